// skipstone chat: a conversation in a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/platform/files.h"
#include "chat/dialogue.h"
#include "chat/session_answerer.h"
#include "commands.h"
#include "options/engine_options.h"
#include "options/grammar_options.h"
#include "options/number_option.h"
#include "options/session_options.h"
#include "results/device_note.h"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli {
namespace {

struct Options {
  std::string model, draft = "auto", colour = "auto";
  std::optional<std::int64_t> max_tokens;
  EngineOptions engine;
  DraftOptions drafting;
  skipstone_session_params sampling = default_sampling();
  SamplingOptions given;
  ChatOptions chat;
  GrammarOptions fitting;
  std::vector<std::string> stop;
};

std::string history_file() {
  const std::string folder = skipstone::env::cache_directory();
  return folder.empty() ? "" : skipstone::platform::text_of(skipstone::platform::path_of(folder) / "chat-history");
}

/// Checks options before a model is loaded.
void check(const Options& options) {
  const std::int64_t most = options.max_tokens.value_or(0);
  if (most < -1 || most > std::numeric_limits<std::int32_t>::max()) {
    fail(ExitCode::usage, "-n {} is no number of tokens; 0 or more, or -1 to go on until the context is full", most);
  }
  skipstone::check(skipstone_session_check_params(&options.sampling));
}

/// Half of the context unless -n says otherwise: an answer that does not end by itself leaves room for the next question.
chat::AnswerLimits limits(const Options& options, std::uint32_t context) {
  chat::AnswerLimits all{.stop = options.stop, .grammar = options.fitting.make(false)};
  const std::int64_t most = options.max_tokens.value_or(std::max(context / 2, 1u));
  if (most >= 0) all.tokens = static_cast<std::uint32_t>(most);
  return all;
}

void greet(const chat::SessionAnswerer& answerer, chat::Screen& screen) {
  const skipstone_chat_info info = answerer.info();
  if (screen.terminal()) {
    screen.status(fmt::format("{}, template {}, context of {} tokens; /help lists the commands", answerer.model_name(), info.name,
                              answerer.context()));
  }
  if (info.source == SKIPSTONE_CHAT_PLAIN) screen.status(base_model_note);
}

ExitCode run_chat(Options& options) {
  options.sampling.draft = options.draft.c_str();
  check(options);
  const std::string chat_template = read_chat_template(options.chat.chat_template);
  interrupt::install();
  const std::string model = model_path(options.model);
  const skipstone::Engine engine = load_engine(model, options.engine);
  warn_of_long_context(engine, options.engine);
  options.given.recommend(engine, options.sampling);
  chat::SessionAnswerer answerer(engine, chat_template, options.sampling, limits(options, engine.info().context));
  note_device(engine);
  interrupt::install_for_conversation();
  std::unique_ptr<chat::LineInput> input = chat::open_line_editor(history_file());
  if (input == nullptr) input = chat::open_plain_input();
  chat::Screen screen(options.colour);
  greet(answerer, screen);
  chat::Dialogue dialogue(answerer, *input, screen);
  dialogue.conversation().set_system(options.chat.system);
  dialogue.run();
  check_validation(engine);
  return interrupt::terminated() ? ExitCode::interrupted : ExitCode::ok;
}

}  // namespace

void add_chat(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("chat", "Talk to a model");
  const auto options = std::make_shared<Options>();
  Options& o = *options;
  add_model_option(*command, o.model);
  add_number(*command, "-n,--predict,--n-predict", o.max_tokens,
             "Most tokens of an answer; -1: until it ends or the context is full; default: half of the context")
      ->envname("SKIPSTONE_PREDICT");
  command->add_option("--draft", o.draft, "How to draft: NAME[:key=value,...], see `skipstone help drafters`")
      ->envname("SKIPSTONE_DRAFT")
      ->capture_default_str()
      ->type_name("DRAFTER");
  add_stop_option(*command, o.stop);
  add_chat_options(*command, o.chat);
  add_grammar_options(*command, o.fitting, text_grammar_group);
  add_engine_options(*command, o.engine);
  add_draft_options(*command, o.drafting);
  add_rounds_option(*command, o.sampling);
  add_verify_option(*command, o.sampling);
  o.given = add_sampling_options(*command, o.sampling);
  command->footer(
      drafters_note() +
      "\nAnswers go to standard output, all else to standard error. Where standard input is no terminal each of its lines is a message\n"
      "or a command.\n\nExample:\n  skipstone chat -m model.gguf --system \"Answer in one sentence.\"\n\n" +
      exit_code_help);
  command->callback([options, &code] {
    options->drafting.give_to(options->sampling);
    code = run_chat(*options);
  });
}

}  // namespace cli
