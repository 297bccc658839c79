// skipstone run: continues a prompt.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/escape.h"
#include "commands.h"
#include "json/json.h"
#include "options/engine_options.h"
#include "options/environment.h"
#include "options/grammar_options.h"
#include "options/number_option.h"
#include "options/session_options.h"
#include "prompts/prompts.h"
#include "results/device_note.h"
#include "results/formats.h"
#include "results/statistics.h"
#include "run/run_turn.h"
#include "skipstone/skipstone_experimental.hpp"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli {
namespace {

struct RunOptions {
  std::string model, prompt, file, prompts, prompt_tokens, draft = "auto", colour = "never";
  CLI::Option *prompt_option = nullptr, *file_option = nullptr, *prompts_option = nullptr, *tokens_option = nullptr;
  CLI::Option *chat_option = nullptr, *online_option = nullptr;
  std::size_t line = 0;  ///< of `prompts`, counted from 1; 0: its first prompt
  std::int64_t max_tokens = 256;
  std::uint32_t logits = 0;
  EngineOptions engine;
  DraftOptions drafting;
  skipstone_session_params sampling = default_sampling();
  SamplingOptions given;
  double online = 0;
  ChatOptions chat;
  GrammarOptions fitting;
  std::vector<std::string> stop;
  bool statistics = false, agreement = false, json = false, no_echo = false, one_turn = false;
};

/// The prompt that the model continues: a text, or token ids in its place.
struct RunPrompt {
  std::string text;
  std::vector<skipstone_token> tokens;
};

/// The prompt on line `line` of a file of prompts, or its first one for 0.
std::string prompt_of_line(const std::string& file, std::size_t line) {
  const std::vector<Prompt> prompts = read_prompts(file, line == 0 ? 1 : 0);
  if (line == 0) return prompts.front().text;
  const auto prompt = std::ranges::find(prompts, line, &Prompt::line);
  if (prompt != prompts.end()) return prompt->text;
  if (prompts.front().line == 0) fail(ExitCode::usage, "{} is one prompt as a whole; leave --line out", skipstone::shortened(file));
  fail(ExitCode::usage, "{} has no prompt on line {}; its last one is on line {}", skipstone::shortened(file), line, prompts.back().line);
}

RunPrompt choose_prompt(const RunOptions& options) {
  std::vector<std::string> given;
  for (const CLI::Option* option : {options.prompt_option, options.file_option, options.prompts_option, options.tokens_option}) {
    if (option->count() > 0) given.push_back(option->get_name());
  }
  if (given.size() > 1) fail(ExitCode::usage, "there are two prompts, one from {} and one from {}; give one of them", given[0], given[1]);
  if (given.empty()) {
    fail(ExitCode::usage, "there is no prompt; give one with -p TEXT, -f FILE (-f - reads standard input), or --prompts FILE --line N");
  }
  if (options.tokens_option->count() > 0) {
    if (options.one_turn) fail(ExitCode::usage, "--chat takes a message, not token ids; give its text with -p or -f");
    return {{}, read_prompt_tokens(options.prompt_tokens)};
  }
  if (options.line > 0 && options.prompts_option->count() == 0) fail(ExitCode::usage, "--line is for --prompts FILE; give both");
  if (options.prompts_option->count() > 0) return {prompt_of_line(options.prompts, options.line), {}};
  const bool in_file = options.file_option->count() > 0;
  std::string prompt = in_file ? read_prompt(options.file) : options.prompt;
  if (!in_file && prompt.ends_with(".gguf") && skipstone::platform::is_there(prompt)) {
    const std::string name = skipstone::shortened(prompt);
    fail(ExitCode::usage, "{} is a model file and no text to continue; run it with -m {} -p TEXT", name, name);
  }
  if (prompt.empty()) fail(ExitCode::usage, "the prompt is empty; the model needs at least a character to continue");
  return {std::move(prompt), {}};
}

/// Computes a text's tokens, or the text of given tokens.
void complete(RunPrompt& prompt, const skipstone::Engine& engine) {
  if (prompt.tokens.empty()) {
    prompt.tokens = engine.tokenize(prompt.text);
  } else {
    check_prompt_tokens(prompt.tokens, engine);
    prompt.text = engine.detokenize(prompt.tokens);
  }
  if (const std::uint32_t context = engine.info().context; prompt.tokens.size() > context) {
    fail(ExitCode::usage, "the prompt is {} tokens long, but the context holds {}; shorten it, or ask for a larger context with --ctx",
         prompt.tokens.size(), context);
  }
}

/// The drafter specification; --online becomes one of its options.
std::string specification(const RunOptions& options) {
  if (options.online == 0) return options.draft;
  if (options.draft != "skip" && options.draft.rfind("skip:", 0) != 0) {
    if (environment::supplies(options.online_option)) return options.draft;
    fail(ExitCode::usage, "--online improves a skip set; it goes with --draft skip:..., not with {}", options.draft);
  }
  return fmt::format("{}{}online={}", options.draft, options.draft == "skip" ? ":" : ",", options.online);
}

skipstone_session_params session_params(const RunOptions& options) {
  skipstone_session_params params = options.sampling;
  params.draft = options.draft.c_str();
  return params;
}

/// Checks options before a model is loaded.
void check(const RunOptions& options) {
  if (options.max_tokens < -1 || options.max_tokens > std::numeric_limits<std::int32_t>::max()) {
    fail(ExitCode::usage, "-n {} is no number of tokens; 0 or more, or -1 to go on until the context is full", options.max_tokens);
  }
  const skipstone_session_params params = session_params(options);
  skipstone::check(skipstone_session_check_params(&params));
  if (!options.one_turn && (!options.chat.system.empty() || !options.chat.chat_template.empty())) {
    fail(ExitCode::usage, "--system and --chat-template belong to conversations; give --chat with them");
  }
  if (options.logits > 0 && (!options.json || options.one_turn)) {
    fail(ExitCode::usage, "--logits writes into the object of --json, without --chat; give --json with it");
  }
}

std::uint32_t token_limit(const RunOptions& options) {
  return options.max_tokens < 0 ? std::numeric_limits<std::uint32_t>::max() : static_cast<std::uint32_t>(options.max_tokens);
}

/// The first `count` logits after the last of `tokens`, from which the next token is chosen. Throws Failure (usage) if the vocabulary
/// is smaller. Uses a separate session, which is destroyed before the generating one is created, so --logits does not affect the
/// generation.
std::vector<float> first_logits(const skipstone::Engine& engine, const std::vector<skipstone_token>& tokens, std::size_t count) {
  if (const std::uint32_t vocabulary = engine.info().vocabulary; count > vocabulary) {
    fail(ExitCode::usage, "--logits {} are more than the model's vocabulary has tokens ({})", count, vocabulary);
  }
  skipstone_session_params params = skipstone::session_params();
  params.draft = "none";
  skipstone::Session session = make_session(engine, params);
  session.prefill(tokens);
  std::vector<float> logits = session.logits();
  logits.resize(count);
  return logits;
}

skipstone::Json result_json(const RunOptions& options, const std::string& model, const RunPrompt& prompt, const std::string& text,
                            const RunStatistics& statistics, const skipstone::Engine& engine, skipstone::Session& session) {
  const skipstone_engine_info info = engine.info();
  skipstone::Json result = {
      {"prompt", prompt.text},
      {"text", text},
      {"prompt_tokens", prompt.tokens},
      {"tokens", session.tokens()},
      {"stop_reason", statistics.stop_reason},
      {"draft", options.draft},
      {"statistics", statistics_json(statistics)},
      {"model", {{"path", model}, {"name", info.model_name}, {"architecture", info.architecture}, {"fingerprint", info.fingerprint}}},
      {"device",
       {{"name", info.device_name},
        {"driver", info.driver},
        {"tier", info.tier},
        {"experts_on_host", info.experts_on_host},
        {"host_bytes", info.host_bytes}}},
      {"version", skipstone_version()}};
  if (options.agreement && !session.tokens().empty()) result["agreement"] = skipstone::agreement(session);
  if (!statistics.attention_cosine.empty()) result["attention_cosine"] = statistics.attention_cosine;
  return result;
}

ExitCode generate(const RunOptions& options, const std::string& model, RunPrompt prompt, const skipstone::Engine& engine) {
  complete(prompt, engine);
  const std::vector<float> logits = options.logits > 0 ? first_logits(engine, prompt.tokens, options.logits) : std::vector<float>();
  skipstone::Session session = make_session(engine, session_params(options));
  session.set_stop(options.stop);
  note_device(engine);
  const interrupt::Interruptible interruptible(session);

  // The prompt is written with the first token, so that standard output stays empty if the prompt is refused.
  Output output(!options.json && wants_colour(options.colour));
  std::string text;
  bool echoed = options.no_echo;
  const auto echo = [&] {
    if (!echoed) output.write(prompt.text, Style::dim);
    echoed = true;
  };
  session.generate(prompt.tokens, token_limit(options), [&](const skipstone_chunk& chunk) {
    if (options.json) {
      text.append(chunk.text, chunk.bytes);
      return true;
    }
    echo();
    return output.write({chunk.text, chunk.bytes}, chunk.drafted != 0 ? Style::green : Style::plain);
  });
  const RunStatistics statistics = read_statistics(session);
  if (options.json) {
    skipstone::Json result = result_json(options, model, prompt, text, statistics, engine, session);
    if (!logits.empty()) result["logits"] = logits;
    output.write(dump(result) + "\n");
  } else {
    echo();
    output.write("\n");
  }
  if (!options.drafting.corpus.empty() && !options.drafting.optional && statistics.corpus_tokens == 0) {
    note("warning: --draft-corpus was not used; drafter {} looks at no corpus, suffix does", options.draft);
  }
  const bool interrupted = interrupt::requested();
  if (interrupted) note("interrupted");
  if (statistics.lossy && !options.statistics && !options.json) {
    note("note: drafter {} is lossy: the text need not be plain decoding's", statistics.drafter);
  }
  if (options.statistics || (interrupted && !options.json)) note_lines(statistics_text(statistics, device_text(engine)));
  if (options.agreement && !options.json && !interrupted && !session.tokens().empty()) {
    note("{:<20}{:10.1f} % of the tokens are what the whole model chooses there", "agreement", 100.0 * skipstone::agreement(session));
  }
  check_validation(engine);
  return interrupted ? ExitCode::interrupted : ExitCode::ok;
}

ExitCode run(RunOptions& options) {
  options.draft = specification(options);
  check(options);
  interrupt::install();
  RunPrompt prompt = choose_prompt(options);
  const std::optional<skipstone::Grammar> grammar = options.fitting.make(false);
  if (grammar) options.sampling.grammar = grammar->get();
  const std::string model = model_path(options.model);
  const skipstone::Engine engine = load_engine(model, options.engine);
  warn_of_long_context(engine, options.engine);
  options.given.recommend(engine, options.sampling);
  if (options.one_turn) {
    const TurnOptions turn{options.chat, options.stop, token_limit(options), options.json, options.statistics, options.colour, grammar};
    return run_turn(engine, session_params(options), turn, prompt.text);
  }
  if (prompt.tokens.empty()) warn_of_raw_text(engine);
  return generate(options, model, std::move(prompt), engine);
}

void add_prompt_options(CLI::App& command, RunOptions& o) {
  o.prompt_option =
      command.add_option("-p,--prompt,PROMPT", o.prompt, "The text to continue")->envname("SKIPSTONE_PROMPT")->type_name("TEXT");
  o.file_option =
      command.add_option("-f,--file", o.file, "Read the text to continue from FILE, - is standard input; a line end at its end is dropped")
          ->envname("SKIPSTONE_FILE")
          ->type_name("FILE");
  o.prompts_option = command.add_option("--prompts", o.prompts, "A file of prompts as `bench` reads it: its first one, or that of --line")
                         ->envname("SKIPSTONE_PROMPTS")
                         ->type_name("FILE");
  CLI::Option* const line = add_number(command, "--line", o.line, "The line of --prompts whose prompt is continued, counted from 1")
                                ->envname("SKIPSTONE_LINE")
                                ->type_name("N");
  environment::set_needs(line, {o.prompts_option});
  o.tokens_option =
      command
          .add_option("--prompt-tokens", o.prompt_tokens,
                      "Token ids to continue instead of a text, as they are: 1,2,3, or a FILE of them with commas or blanks between "
                      "them (-: standard input)")
          ->envname("SKIPSTONE_PROMPT_TOKENS")
          ->type_name("IDS|FILE");
  environment::set_exclusive({o.prompt_option, o.file_option, o.prompts_option, o.tokens_option});
}

/// Adds --color, whose value is optional, and returns it.
CLI::Option* add_output_options(CLI::App& command, RunOptions& o) {
  const char* group = "Output";
  command.add_flag("--stats", o.statistics, "Statistics to standard error at the end")->envname("SKIPSTONE_STATS")->group(group);
  command
      .add_flag("--agreement", o.agreement,
                "At the end, how many tokens are what the whole model chooses at their places: 100 % unless the drafter is lossy")
      ->envname("SKIPSTONE_AGREEMENT")
      ->group(group);
  CLI::Option* const json =
      command.add_flag("--json", o.json, "One line with a JSON object instead of text, at the end; its \"text\" is the continuation alone")
          ->envname("SKIPSTONE_JSON")
          ->group(group);
  CLI::Option* const logits = add_number(command, "--logits", o.logits,
                                         "In --json the first N logits after the prompt's last token, from which the first new token is "
                                         "chosen; reads the prompt once more")
                                  ->envname("SKIPSTONE_LOGITS")
                                  ->type_name("N")
                                  ->group(group);
  environment::set_needs(logits, {json});
  environment::set_exclusive({o.chat_option, logits});
  command.add_flag("--no-echo", o.no_echo, "Do not write the prompt before the continuation")->envname("SKIPSTONE_NO_ECHO")->group(group);
  CLI::Option* const colour = command.add_option(
      "--color", o.colour, "Accepted drafts green, the prompt dim: auto (on a terminal; also plain --color), always, never");
  colour->envname("SKIPSTONE_COLOR")
      ->expected(0, 1)
      ->check([](const std::string& when) {
        return when.empty() || when == "auto" || when == "always" || when == "never" ? "" : "'" + when + "' is none of auto, always, never";
      })
      ->type_name("WHEN")
      ->group(group);
  return colour;
}

}  // namespace

void add_run(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("run", "Continue a prompt");
  const auto options = std::make_shared<RunOptions>();
  RunOptions& o = *options;
  command->add_option("-m,--model", o.model, "Model file (GGUF); default: the bundled model")
      ->envname("SKIPSTONE_MODEL")
      ->type_name("FILE");
  add_prompt_options(*command, o);
  add_number(*command, "-n,--predict,--n-predict", o.max_tokens, "Most tokens to generate; -1: until the context is full")
      ->envname("SKIPSTONE_PREDICT")
      ->capture_default_str();
  command
      ->add_flag_callback(
          "--ignore-end", [&o] { o.sampling.ignore_end = 1; }, "Continue after tokens that end a text, as if they were others")
      ->envname("SKIPSTONE_IGNORE_END")
      ->group(advanced_group);
  command
      ->add_option(
          "--draft", o.draft,
          "How to draft: NAME[:key=value,...], see `skipstone help drafters`; the text is the same with all of them that are not lossy")
      ->envname("SKIPSTONE_DRAFT")
      ->capture_default_str()
      ->type_name("DRAFTER");
  o.online_option = add_number(*command, "--online", o.online,
                               "Share of the time, as 0.05, in which the set of --draft skip:... is improved while generating; 0: it stays")
                        ->envname("SKIPSTONE_ONLINE")
                        ->capture_default_str()
                        ->group(advanced_group);
  add_stop_option(*command, o.stop);
  o.chat_option =
      command->add_flag("--chat", o.one_turn, "The text is a message: its answer, by the model's chat template, is written alone")
          ->envname("SKIPSTONE_CHAT")
          ->group("Conversation");
  for (CLI::Option* option : add_chat_options(*command, o.chat)) environment::set_needs(option, {o.chat_option});
  environment::set_exclusive({o.chat_option, o.tokens_option});
  add_grammar_options(*command, o.fitting, text_grammar_group);
  add_engine_options(*command, o.engine);
  add_draft_options(*command, o.drafting);
  add_rounds_option(*command, o.sampling);
  add_verify_option(*command, o.sampling);
  o.given = add_sampling_options(*command, o.sampling);
  CLI::Option* const colour = add_output_options(*command, o);
  command->footer(
      drafters_note() +
      "\nThe prompt and its continuation go to standard output as they are made, everything else to standard error. Every option can "
      "be set by the environment variable beside it; the command line wins.\n\n"
      "Families of models that run: " +
      skipstone_architectures() +
      ".\n\n"
      "Example:\n  skipstone run -p \"Once upon a time\" -n 64 --stats\n\n" +
      exit_code_help);
  command->callback([options, colour, &code] {  // no look-up by name here: CLI11 ends the program if that runs out of memory
    if (colour->count() > 0 && options->colour.empty()) options->colour = "auto";
    options->drafting.give_to(options->sampling);
    code = run(*options);
  });
}

}  // namespace cli
