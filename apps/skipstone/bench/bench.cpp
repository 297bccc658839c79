// skipstone bench: how fast drafters are against plain decoding of the same prompts.
#include <fmt/format.h>

#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/drafter_list.h"
#include "bench/prompts.h"
#include "bench/report.h"
#include "bench/summary.h"
#include "bench/sweep.h"
#include "commands.h"
#include "engine_options.h"
#include "interrupt.h"
#include "model_path.h"
#include "output.h"
#include "result_file.h"
#include "session_options.h"

namespace cli {
namespace {

using bench::Format;
using bench::Sweep;

const std::map<std::string, Format> formats = {
    {"md", Format::markdown}, {"csv", Format::csv}, {"json", Format::json}, {"jsonl", Format::jsonl}};

struct BenchOptions {
  std::vector<std::string> models, drafters;
  std::string prompts, output, format = "md", save_tokens;
  std::int64_t limit = 0, max_tokens = 128, repeats = 1;
  EngineOptions engine;
  skipstone_session_params sampling = skipstone_session_default_params();
};

/// Where none is named: those that need nothing but the model.
std::vector<std::string> usual_drafters(const skipstone::Engine& engine) {
  if (engine.info().exit_layer == 0) return {"none", "asd"};
  return {"none", "asd", "exit"};
}

/// What is better found before a model is loaded.
void check(const BenchOptions& options, const std::vector<std::string>& drafters) {
  if (options.prompts.empty()) throw Failure(ExitCode::usage, "there is nothing to measure; name a file of prompts with --prompts FILE");
  if (options.max_tokens < 2 || options.max_tokens > std::numeric_limits<std::int32_t>::max()) {
    throw Failure(ExitCode::usage,
                  fmt::format("-n {} cannot be measured; 2 tokens or more, because the first one comes out of the prompt's pass",
                              options.max_tokens));
  }
  if (options.limit < 0) throw Failure(ExitCode::usage, fmt::format("--limit {} is no number of prompts; 0 takes all", options.limit));
  if (options.repeats < 1 || options.repeats > 1'000'000) {
    throw Failure(ExitCode::usage, fmt::format("--repeat {} cannot be measured; 1 to 1000000 times", options.repeats));
  }
  if (!options.save_tokens.empty() && options.models.size() > 1) {
    throw Failure(ExitCode::usage, "--save-tokens writes the tokens of one model; name one");
  }
  for (const std::string& drafter : drafters) {
    skipstone_session_params params = options.sampling;
    params.draft = drafter.c_str();
    skipstone::check(skipstone_session_check_params(&params));
  }
  for (const std::string& file : {options.output, options.save_tokens}) {
    if (!file.empty()) check_writable(file);
  }
}

/// A file that cannot be written after all must not cost the result: it goes to standard output then.
void write_result(const std::string& text, const std::string& file) {
  if (!file.empty()) {
    try {
      return write_file(file, text);
    } catch (const Failure& failure) {
      Output(false).write(text);
      throw Failure(failure.code(), fmt::format("{}; the result is on standard output", failure.what()));
    }
  }
  Output(false).write(text);
}

Sweep sweep_model(const std::string& model, const std::vector<bench::Prompt>& prompts, const std::vector<std::string>& drafters,
                  const BenchOptions& options) {
  const skipstone::Engine engine = load_engine(model, options.engine);
  Sweep sweep = bench::run_sweep(engine, prompts,
                                 {.drafters = options.drafters.empty() ? usual_drafters(engine) : drafters,
                                  .prompts_file = options.prompts,
                                  .model_path = model,
                                  .kv_type = options.engine.kv,
                                  .max_tokens = static_cast<std::uint32_t>(options.max_tokens),
                                  .repeats = static_cast<std::uint32_t>(options.repeats),
                                  .sampling = options.sampling});
  check_validation(engine);
  return sweep;
}

ExitCode measure(const BenchOptions& options) {
  const std::vector<std::string> drafters = bench::drafter_list(options.drafters);
  check(options, drafters);
  const std::vector<bench::Prompt> prompts = bench::read_prompts(options.prompts, static_cast<std::size_t>(options.limit));
  const std::vector<std::string> models = options.models.empty() ? std::vector{bundled_model()} : options.models;
  interrupt::install();

  std::vector<Sweep> sweeps;
  std::exception_ptr failed;
  for (const std::string& model : models) {
    try {
      sweeps.push_back(sweep_model(model, prompts, drafters, options));
    } catch (...) {
      if (sweeps.empty()) throw;
      failed = std::current_exception();
    }
    if (failed || interrupt::requested()) break;
  }
  if (sweeps.back().runs.empty()) sweeps.pop_back();
  if (sweeps.empty()) throw Failure(ExitCode::interrupted, "interrupted before every drafter had continued the first prompt");
  write_result(bench::report(sweeps, formats.at(options.format)), options.output);
  if (!options.save_tokens.empty()) write_file(options.save_tokens, bench::plain_tokens(sweeps.front()));
  for (const Sweep& sweep : sweeps) {
    if (const std::string sentence = bench::lossless_violation(sweep); !sentence.empty()) throw Failure(ExitCode::failure, sentence);
  }
  if (failed) std::rethrow_exception(failed);
  if (!interrupt::requested()) return ExitCode::ok;
  fmt::print(stderr, "interrupted: the result has what was complete\n");
  return ExitCode::interrupted;
}

void add_sweep_options(CLI::App& command, BenchOptions& o) {
  command.add_option("-m,--model,MODEL", o.models, "Model files (GGUF), measured one after the other; default: the bundled model")
      ->envname("SKIPSTONE_MODEL")
      ->type_name("FILE");
  command
      .add_option("--draft", o.drafters,
                  "Drafters, NAME[:key=value,...] each, see below: a list separated by commas or blanks, or --draft several\n"
                  "times; `none`, plain decoding, is always measured; default: asd, and exit where the model was trained for it")
      ->envname("SKIPSTONE_DRAFT")
      ->allow_extra_args(false)
      ->type_name("LIST");
  command.add_option("--prompts", o.prompts, "Texts to continue, see below")->envname("SKIPSTONE_PROMPTS")->type_name("FILE");
  command.add_option("--limit", o.limit, "Only the first N prompts of the file; 0: all")
      ->envname("SKIPSTONE_LIMIT")
      ->capture_default_str()
      ->type_name("N");
  command.add_option("-n,--predict", o.max_tokens, "Most tokens to generate for each prompt, at least 2")
      ->envname("SKIPSTONE_PREDICT")
      ->capture_default_str();
  command.add_option("--repeat", o.repeats, "How often every prompt is run")->envname("SKIPSTONE_REPEAT")->capture_default_str();
  add_engine_options(command, o.engine);
  add_rounds_option(command, o.sampling);
  add_sampling_options(command, o.sampling);
}

}  // namespace

void add_bench(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("bench", "Measure drafters against plain decoding");
  const auto options = std::make_shared<BenchOptions>();
  BenchOptions& o = *options;
  add_sweep_options(*command, o);
  const char* group = "Output";
  command->add_option("--format", o.format, "md (tables), csv, json or jsonl; the last two have every single generation as well")
      ->envname("SKIPSTONE_FORMAT")
      ->capture_default_str()
      ->check([](const std::string& name) {
        return formats.count(name) == 1 ? std::string() : fmt::format("there is no format '{}'; there are md, csv, json and jsonl", name);
      })
      ->type_name("FORMAT")
      ->group(group);
  command->add_option("-o,--output", o.output, "Write the result to FILE instead of standard output")
      ->envname("SKIPSTONE_OUTPUT")
      ->type_name("FILE")
      ->group(group);
  command->add_option("--save-tokens", o.save_tokens, "Plain decoding's tokens, as JSON lines {\"prompt\", \"prompt_tokens\", \"tokens\"}")
      ->envname("SKIPSTONE_SAVE_TOKENS")
      ->type_name("FILE")
      ->group(group);
  command->footer(
      drafters_help() +
      "\nPrompts: .jsonl has one on each line, a JSON string or an object with \"prompt\" (HumanEval), \"question\" (GSM8K), \"turns\"\n"
      "(MT-bench, the first one) or \"text\"; .txt is one prompt. Both may be compressed (.gz). They are continued as they are, without\n"
      "a chat template.\n\n"
      "Every drafter continues a prompt before the next one comes, and who is first changes from prompt to prompt; speed-ups are\n"
      "medians of the ratios to plain decoding of the same prompt. `none` named twice is measured against itself: that is the noise.\n"
      "Ctrl-C stops after the generation that runs and prints what is complete. Exit code 1 also means that a lossless drafter's\n"
      "text was not that of plain decoding.\n\n"
      "Example:\n"
      "  skipstone bench -m model.gguf --prompts HumanEval.jsonl.gz --limit 20\n"
      "  skipstone bench -m model.gguf --prompts prompts.txt --draft none,asd,asd:c=0.97,k=6 --format json -o result.json\n\n" +
      exit_code_help);
  command->callback([options, &code] { code = measure(*options); });
}

}  // namespace cli
