#include "run/run_turn.h"

#include "chat/screen.h"
#include "chat/session_answerer.h"
#include "json/json.h"
#include "options/engine_options.h"
#include "results/device_note.h"
#include "results/formats.h"
#include "results/statistics.h"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli {

using skipstone::Json;

ExitCode run_turn(const skipstone::Engine& engine, const skipstone_session_params& params, const TurnOptions& options,
                  const std::string& message) {
  chat::SessionAnswerer answerer(engine, read_chat_template(options.chat.chat_template), params,
                                 {.stop = options.stop, .tokens = options.max_tokens, .grammar = options.grammar});
  note_device(engine);
  if (answerer.info().source == SKIPSTONE_CHAT_PLAIN) note(base_model_note);
  chat::Conversation conversation;
  conversation.set_system(options.chat.system);
  conversation.add({.role = "user", .content = message});
  chat::Screen screen(options.json ? "never" : options.colour);
  chat::Message answer{.role = "assistant"};
  answerer.answer(conversation, [&](const chat::Piece& piece) {
    chat::record(piece, answer);
    return options.json || chat::show(piece, screen);
  });
  screen.end_answer();
  const bool interrupted = interrupt::requested();
  const RunStatistics statistics = answerer.run_statistics();
  if (options.json) {
    const skipstone_engine_info info = engine.info();
    const Json result = {{"message", chat::message_json(answer)},
                         {"stop_reason", statistics.stop_reason},
                         {"template", answerer.info().name},
                         {"statistics", statistics_json(statistics)},
                         {"model", {{"name", info.model_name}, {"architecture", info.architecture}, {"fingerprint", info.fingerprint}}},
                         {"version", skipstone_version()}};
    Output(false).write(dump(result) + "\n");
  }
  if (interrupted) note("interrupted");
  if (options.statistics && !options.json) note_lines(statistics_text(statistics, device_text(engine)));
  check_validation(engine);
  return interrupted ? ExitCode::interrupted : ExitCode::ok;
}

void warn_of_raw_text(const skipstone::Engine& engine) {
  try {
    const skipstone::Chat chat(engine);
    if (chat.info().source != SKIPSTONE_CHAT_MODEL || *chat.info().error != '\0') return;
  } catch (const skipstone::error&) {
    return;  // errors of a template matter only to those who use it
  }
  note("note: this model has a chat template, and the text is given to it without; run --chat or skipstone chat use the template");
}

}  // namespace cli
