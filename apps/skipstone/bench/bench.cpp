// skipstone bench: how fast prompts, decoding and passes over rows are; with prompts, how fast drafters are against plain decoding of them.
#include <fmt/format.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/drafter_list.h"
#include "bench/preset.h"
#include "bench/preset_ngrammys.h"
#include "bench/preset_sweep.h"
#include "bench/prompts.h"
#include "bench/report.h"
#include "bench/speed.h"
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

using bench::Speed;
using bench::Sweep;

struct BenchOptions {
  std::vector<std::string> models, synthetic, drafters, generate;
  bench::TestLists tests;  ///< `generate` goes to tests.generate where there are no prompts
  std::string prompts, output, format, save_tokens, preset, plot, skip_set;
  std::int64_t limit = 0, max_tokens = 128;
  std::optional<std::int64_t> repeats;
  bool no_warm_up = false, read_once = false;
  EngineOptions engine;
  DraftOptions drafting;
  skipstone_session_params sampling = skipstone_session_default_params();

  bool sweeps() const { return !prompts.empty(); }
};

/// Where none is named: those that need nothing but the model.
std::vector<std::string> usual_drafters(const skipstone::Engine& engine) {
  if (engine.info().exit_layer == 0) return {"none", "asd"};
  return {"none", "asd", "exit"};
}

/// "-o json" is a format, as llama-bench has it; anything that is no format's name is a file.
void settle_output(BenchOptions& o) {
  if (bench::is_format(o.output)) {
    if (!o.format.empty() && o.format != o.output) {
      throw Failure(ExitCode::usage, fmt::format("--format {} and -o {} are two formats; to write to a file of that name say -o ./{}",
                                                 o.format, o.output, o.output));
    }
    o.format = std::exchange(o.output, "");
  }
  if (o.format.empty()) o.format = "md";
  bench::format_of(o.format);
}

std::uint32_t repetitions(const BenchOptions& o, std::uint32_t usual) {
  const std::int64_t count = o.repeats.value_or(usual);
  if (count < 1 || count > 1'000'000) {
    throw Failure(ExitCode::usage, fmt::format("--repeat {} cannot be measured; 1 to 1000000 times", count));
  }
  return static_cast<std::uint32_t>(count);
}

void check_preset(const BenchOptions& options) {
  if (options.preset.empty()) {
    if (!options.plot.empty()) throw Failure(ExitCode::usage, "--plot draws what a --preset measures; name one");
    if (!options.skip_set.empty()) throw Failure(ExitCode::usage, "--skip-set is for presets; with --draft write skip:SET");
    return;
  }
  if (!options.drafters.empty()) throw Failure(ExitCode::usage, "--preset brings its own drafters; leave --draft out");
  if (options.preset == bench::call_preset) {
    throw Failure(ExitCode::usage, fmt::format("preset {} measures passes over made-up tokens; leave --prompts out", bench::call_preset));
  }
  if (!bench::is_preset(options.preset)) {
    throw Failure(ExitCode::usage, fmt::format("there is no preset '{}'; there are {}", options.preset, bench::preset_names()));
  }
  if (options.models.size() > 1 && !options.plot.empty()) throw Failure(ExitCode::usage, "--plot draws the result of one model; name one");
  if (!options.plot.empty()) check_writable(options.plot);
}

/// What is better found before a model is loaded.
void check_sweep(BenchOptions& options, const std::vector<std::string>& drafters) {
  const bench::TestLists& tests = options.tests;
  if (!tests.prompt.empty() || !tests.pairs.empty() || !tests.rows.empty() || !tests.depth.empty() || !options.synthetic.empty()) {
    throw Failure(ExitCode::usage, "--prompts measures drafters; -p, -d, --pg, --rows and --synthetic belong to a run without it");
  }
  if (!options.generate.empty()) {
    const std::vector<std::uint32_t> counts = bench::number_list("-n", options.generate, 2);
    if (counts.size() > 1) throw Failure(ExitCode::usage, "with --prompts -n is one number");
    options.max_tokens = counts.front();
  }
  if (options.limit < 0) throw Failure(ExitCode::usage, fmt::format("--limit {} is no number of prompts; 0 takes all", options.limit));
  repetitions(options, 1);
  if (!options.save_tokens.empty() && options.models.size() > 1) {
    throw Failure(ExitCode::usage, "--save-tokens writes the tokens of one model; name one");
  }
  for (const std::string& drafter : drafters) {
    skipstone_session_params params = options.sampling;
    params.draft = drafter.c_str();
    skipstone::check(skipstone_session_check_params(&params));
  }
  if (!options.save_tokens.empty()) check_writable(options.save_tokens);
  check_preset(options);
}

/// The tests of the preset that needs no texts.
std::vector<bench::Test> check_call_preset(const BenchOptions& options) {
  const bench::TestLists& tests = options.tests;
  if (!tests.prompt.empty() || !tests.pairs.empty() || !tests.rows.empty() || !tests.depth.empty() || !options.generate.empty()) {
    throw Failure(ExitCode::usage,
                  fmt::format("preset {} brings its own tests; leave -p, -n, -d, --pg and --rows out", bench::call_preset));
  }
  if (!options.plot.empty()) {
    if (options.models.size() + options.synthetic.size() > 1) {
      throw Failure(ExitCode::usage, "--plot draws the result of one model; name one");
    }
    check_writable(options.plot);
  }
  return bench::call_tests();
}

std::vector<bench::Test> check_speed(BenchOptions& options) {
  const bool calls = options.preset == bench::call_preset;
  if (!calls && !options.plot.empty()) throw Failure(ExitCode::usage, "--plot draws what a --preset measures; name one");
  if (!options.drafters.empty() || !options.save_tokens.empty() || (!options.preset.empty() && !calls) || options.limit != 0 ||
      options.read_once) {
    throw Failure(ExitCode::usage,
                  "--draft (SKIPSTONE_DRAFT), --preset, --limit, --read-once and --save-tokens need texts to continue; name a file of them "
                  "with --prompts FILE");
  }
  options.tests.generate = options.generate;
  const std::vector<bench::Test> tests = calls ? check_call_preset(options) : bench::make_tests(options.tests);
  repetitions(options, 5);
  const std::uint32_t needed = bench::needed_context(tests), given = options.engine.context;
  if (given != 0 && given < needed) {
    throw Failure(ExitCode::usage, fmt::format("the tests need a context of {} tokens, and --ctx is {}", needed, given));
  }
  if (given == 0) options.engine.context = (needed + 255) / 256 * 256;
  return tests;
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
  const bench::SweepOptions sweep_options{.drafters = options.drafters.empty() ? usual_drafters(engine) : drafters,
                                          .prompts_file = options.prompts,
                                          .model_path = model,
                                          .max_tokens = static_cast<std::uint32_t>(options.max_tokens),
                                          .repeats = repetitions(options, 1),
                                          .sampling = options.sampling,
                                          .read_once = options.read_once};
  Sweep sweep = options.preset.empty()
                    ? bench::run_sweep(engine, prompts, sweep_options)
                    : bench::run_preset(engine, prompts, {options.preset, options.skip_set, options.plot}, sweep_options);
  check_validation(engine);
  return sweep;
}

/// Calls `measure` for each model; what came out before one failed is not lost. `complete`: whether a result says anything.
template <typename Result, typename Measure, typename Complete>
std::exception_ptr measure_each(const std::vector<std::string>& models, std::vector<Result>& results, const Measure& measure,
                                const Complete& complete) {
  std::exception_ptr failed;
  for (const std::string& model : models) {
    try {
      results.push_back(measure(model));
      if (!complete(results.back())) results.pop_back();
    } catch (...) {
      if (results.empty()) throw;
      failed = std::current_exception();
    }
    if (failed || interrupt::requested()) break;
  }
  if (results.empty()) throw Failure(ExitCode::interrupted, "interrupted before anything was measured completely");
  return failed;
}

ExitCode conclude(std::exception_ptr failed) {
  if (failed) std::rethrow_exception(failed);
  if (!interrupt::requested()) return ExitCode::ok;
  fmt::print(stderr, "interrupted: the result has what was complete\n");
  return ExitCode::interrupted;
}

ExitCode measure_drafters(BenchOptions& options) {
  const std::vector<std::string> drafters = bench::drafter_list(options.drafters);
  check_sweep(options, drafters);
  const std::vector<bench::Prompt> prompts = bench::read_prompts(options.prompts, static_cast<std::size_t>(options.limit));
  interrupt::install();
  std::vector<Sweep> sweeps;
  const std::exception_ptr failed = measure_each(
      options.models, sweeps, [&](const std::string& model) { return sweep_model(model, prompts, drafters, options); },
      [](const Sweep& sweep) { return !sweep.runs.empty(); });
  write_result(bench::report(sweeps, bench::format_of(options.format)), options.output);
  if (!options.save_tokens.empty()) write_file(options.save_tokens, bench::plain_tokens(sweeps.front()));
  for (const Sweep& sweep : sweeps) {
    if (const std::string sentence = bench::lossless_violation(sweep); !sentence.empty()) throw Failure(ExitCode::failure, sentence);
  }
  return conclude(failed);
}

/// Nothing where the device has no room for two buffers beside what else is on it: the shares are then not said.
std::optional<double> copy_bandwidth(const EngineOptions& options) {
  try {
    return skipstone::copy_bandwidth(options.device_option->count() > 0 ? options.device.c_str() : nullptr);
  } catch (const skipstone::error& error) {
    if (error.status() != SKIPSTONE_OUT_OF_MEMORY) throw;
    fmt::print(stderr, "warning: the copy bandwidth is not measured: {}\n", error.what());
    return std::nullopt;
  }
}

ExitCode measure_tests(BenchOptions& options) {
  const std::vector<bench::Test> tests = check_speed(options);
  const std::vector<std::string> synthetic = bench::synthetic_list(options.synthetic);
  std::vector<std::string> models = options.models;
  models.insert(models.end(), synthetic.begin(), synthetic.end());
  const std::size_t files = models.size() - synthetic.size();
  interrupt::install();
  std::optional<double> copies;
  std::size_t turn = 0;
  std::vector<Speed> speeds;
  const auto measure = [&](const std::string& model) {
    const bool is_file = turn++ < files;
    if (turn == 1) copies = copy_bandwidth(options.engine);
    const skipstone::Engine engine = is_file ? load_engine(model, options.engine) : load_synthetic(model, options.engine);
    Speed speed =
        bench::measure_speed(engine, model, copies, tests, {.repetitions = repetitions(options, 5), .warm_up = !options.no_warm_up});
    check_validation(engine);
    return speed;
  };
  const std::exception_ptr failed =
      measure_each(models, speeds, measure, [](const Speed& speed) { return !speed.results.front().seconds.empty(); });
  if (options.preset == bench::call_preset && !options.plot.empty()) {
    write_file(options.plot, bench::svg(bench::call_plot(speeds.front())));
  }
  write_result(bench::speed_report(speeds, bench::format_of(options.format)), options.output);
  return conclude(failed);
}

ExitCode measure(BenchOptions options) {
  settle_output(options);
  options.drafting.give_to(options.sampling);
  if (!options.output.empty()) check_writable(options.output);
  options.models = bench::model_list(options.models);
  if (options.models.empty() && options.synthetic.empty()) options.models = {bundled_model()};
  return options.sweeps() ? measure_drafters(options) : measure_tests(options);
}

void add_model_options(CLI::App& command, BenchOptions& o) {
  command
      .add_option("-m,--model,MODEL", o.models,
                  "Model files (GGUF), measured one after the other: several, or a list with commas; default: the bundled model")
      ->envname("SKIPSTONE_MODEL")
      ->type_name("FILE");
  command
      .add_option("--synthetic", o.synthetic,
                  fmt::format("Random weights of a published shape, made on the device, NAME:TYPE[,TYPE...] as llama-2-7b:q4_0,q8_0;\n"
                              "names: {}",
                              skipstone_synthetic_models()))
      ->envname("SKIPSTONE_SYNTHETIC")
      ->allow_extra_args(false)
      ->type_name("LIST");
  command
      .add_option("-n,--predict,--n-gen", o.generate,
                  "Tokens to generate one by one (test tg...), a list; with --prompts most tokens for each prompt, at least 2, default 128")
      ->envname("SKIPSTONE_PREDICT")
      ->allow_extra_args(false)
      ->type_name("LIST");
  command.add_option("-r,--repeat,--repetitions", o.repeats, "How often everything is run; default: 5, and 1 with --prompts")
      ->envname("SKIPSTONE_REPEAT")
      ->type_name("N");
}

void add_speed_options(CLI::App& command, BenchOptions& o) {
  const char* group = "Tests (without --prompts)";
  const auto list = [&](const char* names, std::vector<std::string>& values, const char* environment, const std::string& text) {
    command.add_option(names, values, text)->envname(environment)->allow_extra_args(false)->type_name("LIST")->group(group);
  };
  list("-p,--n-prompt", o.tests.prompt, "SKIPSTONE_N_PROMPT", "Tokens of a prompt read in one go (test pp...); 0: none");
  list("--pg", o.tests.pairs, "SKIPSTONE_PG", "P,N: a prompt of P tokens and N more in one time; -pg too; may be given several times");
  list("--rows", o.tests.rows, "SKIPSTONE_ROWS", "Passes that verify so many rows, and what they cost by one row: v(n)");
  list("-d,--depth,--n-depth", o.tests.depth, "SKIPSTONE_DEPTH", "Tokens that are in the cache already, for each test above; default: 0");
  command.add_flag("--no-warmup", o.no_warm_up, "Do not run every test once before it counts")->group(group);
}

void add_sweep_options(CLI::App& command, BenchOptions& o) {
  const char* group = "Drafters";
  command.add_option("--prompts", o.prompts, "Texts to continue, see below")->envname("SKIPSTONE_PROMPTS")->type_name("FILE")->group(group);
  command
      .add_option("--draft", o.drafters,
                  "Drafters, NAME[:key=value,...] each, see below: a list separated by commas or blanks, or --draft several\n"
                  "times; `none`, plain decoding, is always measured; default: asd, and exit where the model was trained for it")
      ->envname("SKIPSTONE_DRAFT")
      ->allow_extra_args(false)
      ->type_name("LIST")
      ->group(group);
  command.add_option("--preset", o.preset, fmt::format("A paper's experiment instead of --draft: {}", bench::preset_names()))
      ->envname("SKIPSTONE_PRESET")
      ->type_name("NAME")
      ->group(group);
  command.add_option("--plot", o.plot, "What the preset plots, as SVG")->envname("SKIPSTONE_PLOT")->type_name("FILE")->group(group);
  command
      .add_option("--skip-set", o.skip_set,
                  "What the presets of Draft & Verify skip, as in skip:SET; default: what ASD skips on the first prompt")
      ->envname("SKIPSTONE_SKIP_SET")
      ->type_name("SET")
      ->group(group);
  command.add_option("--limit", o.limit, "Only the first N prompts of the file; 0: all")
      ->envname("SKIPSTONE_LIMIT")
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command
      .add_flag("--read-once", o.read_once,
                "Read each prompt once and copy its keys and values for every drafter: to compare texts, not prompts' speed")
      ->envname("SKIPSTONE_READ_ONCE")
      ->group(group);
  command.add_option("--save-tokens", o.save_tokens, "Plain decoding's tokens, as JSON lines {\"prompt\", \"prompt_tokens\", \"tokens\"}")
      ->envname("SKIPSTONE_SAVE_TOKENS")
      ->type_name("FILE")
      ->group(group);
  add_draft_options(command, o.drafting);
  add_rounds_option(command, o.sampling);
  add_verify_option(command, o.sampling);
}

}  // namespace

void add_bench(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("bench", "Measure speed: prompts, decoding, rows; with --prompts drafters against plain decoding");
  const auto options = std::make_shared<BenchOptions>();
  BenchOptions& o = *options;
  add_model_options(*command, o);
  add_speed_options(*command, o);
  add_sweep_options(*command, o);
  add_engine_options(*command, o.engine);
  add_sampling_options(*command, o.sampling);
  const char* group = "Output";
  command->add_option("--format", o.format, fmt::format("{}; default: md", bench::format_names))
      ->envname("SKIPSTONE_FORMAT")
      ->type_name("FORMAT")
      ->group(group);
  command
      ->add_option("-o,--output", o.output,
                   "Write the result to FILE instead of standard output; the name of a format is that format instead (-o json)")
      ->envname("SKIPSTONE_OUTPUT")
      ->type_name("FILE")
      ->group(group);
  command->footer(
      "Without --prompts, and without -p, -n, --pg and --rows: -p 512 -n 128. Lists are separated by commas; all tests are run behind "
      "each\n"
      "depth of -d. Tests are run in turn, so that what slows the machine down meets all of them. `bandwidth` is what a token reads of\n"
      "weights and KV cache by its time, as a share of what the device copies.\n\n" +
      drafters_help() +
      "\nPrompts: .jsonl has one on each line, a JSON string or an object with \"prompt\" (HumanEval), \"question\" (GSM8K), \"turns\"\n"
      "(MT-bench, the first one) or \"text\"; .txt is one prompt. Both may be compressed (.gz). They are continued as they are, without\n"
      "a chat template.\n\n"
      "Every drafter continues a prompt before the next one comes, and who is first changes from prompt to prompt; speed-ups are\n"
      "medians of the ratios to plain decoding of the same prompt. `none` named twice is measured against itself: that is the noise.\n"
      "Ctrl-C stops after the generation that runs and prints what is complete. Exit code 1 also means that a lossless drafter's\n"
      "text was not that of plain decoding.\n\n"
      "Example:\n"
      "  skipstone bench -m model.gguf -p 512 -n 128 -d 0,1024 -o json\n"
      "  skipstone bench --synthetic llama-2-7b:q4_0,q8_0,f16 -n 128 --rows 1,2,4,8,16\n"
      "  skipstone bench -m model.gguf --prompts HumanEval.jsonl.gz --limit 20\n"
      "  skipstone bench -m model.gguf --prompts HumanEval.jsonl.gz --limit 20 --preset layerskip-sweep --plot exits.svg\n"
      "  skipstone bench -m model.gguf --prompts prompts.txt --draft none,asd,asd:c=0.97,k=6 --format json -o result.json\n\n" +
      exit_code_help);
  command->callback([options, &code] { code = measure(*options); });
}

}  // namespace cli
