// skipstone bench: the speed of prompts, decoding and passes over rows; with prompts, of drafters relative to plain decoding.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/lists.h"
#include "bench/options.h"
#include "bench/preset.h"
#include "bench/report.h"
#include "bench/speed.h"
#include "bench/summary.h"
#include "bench/sweep.h"
#include "bench/tasks.h"
#include "commands.h"
#include "job/job.h"
#include "json/json.h"
#include "options/engine_options.h"
#include "options/environment.h"
#include "options/session_options.h"
#include "prompts/prompts.h"
#include "results/formats.h"
#include "skipstone/skipstone_experimental.hpp"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli {
namespace {

using bench::BenchOptions;
using bench::Speed;
using bench::Sweep;

/// "-o json" is a format, as in llama-bench; any other text is a file name.
void settle_output(BenchOptions& o) {
  if (is_format(o.output)) {
    if (!o.format.empty() && o.format != o.output && !environment::supplies(o.format_option)) {
      fail(ExitCode::usage, "--format {} and -o {} are two formats; to write to a file of that name say -o ./{}", o.format, o.output,
           o.output);
    }
    o.format = std::exchange(o.output, "");
  }
  if (o.json && !o.format.empty() && o.format != "json" && !environment::supplies(o.format_option)) {
    fail(ExitCode::usage, "--json and the format {} are two formats; take one of them", o.format);
  }
  if (o.json) o.format = "json";
  if (o.format.empty()) {
    const std::string ending = o.output.substr(std::min(o.output.rfind('.'), o.output.size()));
    o.format = ending.size() > 1 && is_format(ending.substr(1)) ? ending.substr(1) : "md";
  }
  format_of(o.format);
}

/// Whether drafters are compared on bundled prompts: no texts and no tests are named. -n alone is a test, as in llama-bench; beside what
/// only drafters have it is the tokens of a text.
bool compares_bundled_prompts(const BenchOptions& o) {
  if (o.sweeps() || o.tests_speed()) return false;
  return o.generate.empty() || environment::supplies(o.generate_option) || !o.drafters.empty() || o.limit != 0 || o.read_once ||
         !o.save_tokens.empty();
}

std::uint32_t repetitions(const BenchOptions& o, std::uint32_t usual) {
  const std::int64_t count = o.repeats.value_or(usual);
  if (count < 1 || count > 1'000'000) {
    fail(ExitCode::usage, "--repeat {} cannot be measured; 1 to 1000000 times", count);
  }
  return static_cast<std::uint32_t>(count);
}

void check_preset(const BenchOptions& options) {
  if (options.preset.empty()) {
    if (!options.plot.empty()) fail(ExitCode::usage, "--plot draws what a --preset measures; name one");
    if (!options.skip_set.empty()) fail(ExitCode::usage, "--skip-set is for presets; with --draft write skip:SET");
    return;
  }
  if (!options.drafters.empty()) fail(ExitCode::usage, "--preset brings its own drafters; leave --draft out");
  if (options.preset == bench::call_preset) {
    fail(ExitCode::usage, "preset {} measures passes over made-up tokens; leave --prompts out", bench::call_preset);
  }
  if (!bench::is_preset(options.preset)) {
    fail(ExitCode::usage, "there is no preset '{}'; there are {}", options.preset, bench::preset_names());
  }
  if (options.models.size() > 1 && !options.plot.empty()) fail(ExitCode::usage, "--plot draws the result of one model; name one");
  if (!options.plot.empty()) check_writable(options.plot);
}

/// Checks the options for the prompts: texts, or made-up tokens.
void check_texts(BenchOptions& options) {
  const bench::TestLists& tests = options.tests;
  const bool others = !tests.pairs.empty() || !tests.rows.empty() || !tests.depth.empty();
  if (!options.made_up()) {
    if (!others && tests.prompt.empty() && options.synthetic.empty()) return;
    fail(ExitCode::usage, "--prompts measures drafters; -p, -d, --pg, --rows and --synthetic belong to a run without it");
  }
  if (options.read_once) fail(ExitCode::usage, "--read-once is for texts; name a file of them with --prompts FILE");
  if (others) fail(ExitCode::usage, "--synthetic-acceptance measures drafters; -d, --pg and --rows belong to a run without it");
  if (!options.preset.empty() || options.limit != 0) {
    fail(ExitCode::usage, "--preset and --limit need texts to continue; name a file of them with --prompts FILE");
  }
  if (tests.prompt.empty()) return;
  const std::vector<std::uint32_t> counts = bench::number_list("-p", tests.prompt, 1);
  if (counts.size() > 1) fail(ExitCode::usage, "with --synthetic-acceptance -p is one number");
  options.made_up_tokens = counts.front();
}

/// Checks the sweep's options before a model is loaded.
void check_sweep(BenchOptions& options, const std::vector<std::string>& drafters) {
  check_texts(options);
  if (!options.generate.empty()) {
    const std::vector<std::uint32_t> counts = bench::number_list("-n", options.generate, 2);
    if (counts.size() > 1) fail(ExitCode::usage, "where drafters are measured -n is one number");
    options.max_tokens = counts.front();
  }
  if (options.made_up() && options.engine.context == 0) {
    options.engine.context = (options.made_up_tokens + static_cast<std::uint32_t>(options.max_tokens) + 255) / 256 * 256;
  }
  if (options.limit < 0) fail(ExitCode::usage, "--limit {} is no number of prompts; 0 takes all", options.limit);
  repetitions(options, 1);
  if (!options.save_tokens.empty() && options.models.size() > 1) {
    fail(ExitCode::usage, "--save-tokens writes the tokens of one model; name one");
  }
  if (!options.acceptance.empty() && !options.save_tokens.empty()) {
    fail(ExitCode::usage, "--save-tokens keeps texts, and with --synthetic-acceptance they say nothing; leave one out");
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
    fail(ExitCode::usage, "preset {} brings its own tests; leave -p, -n, -d, --pg and --rows out", bench::call_preset);
  }
  if (!options.plot.empty()) {
    if (options.models.size() + options.synthetic.size() > 1) {
      fail(ExitCode::usage, "--plot draws the result of one model; name one");
    }
    check_writable(options.plot);
  }
  return bench::call_tests();
}

std::vector<bench::Test> check_speed(BenchOptions& options) {
  const bool calls = options.preset == bench::call_preset;
  if (!calls && !options.plot.empty()) fail(ExitCode::usage, "--plot draws what a --preset measures; name one");
  if (!options.drafters.empty() || !options.save_tokens.empty() || (!options.preset.empty() && !calls) || options.limit != 0 ||
      options.read_once) {
    fail(ExitCode::usage,
         "--draft (SKIPSTONE_DRAFT), --preset, --limit, --read-once and --save-tokens need texts to continue; name a file of them "
         "with --prompts FILE");
  }
  options.tests.generate = options.generate;
  std::vector<bench::Test> tests = calls ? check_call_preset(options) : bench::make_tests(options.tests);
  repetitions(options, 5);
  const std::uint32_t needed = bench::needed_context(tests), given = options.engine.context;
  if (given != 0 && given < needed) {
    fail(ExitCode::usage, "the tests need a context of {} tokens, and --ctx is {}", needed, given);
  }
  if (given == 0) options.engine.context = (needed + 255) / 256 * 256;
  return tests;
}

/// Writes what `report` makes of a format to standard output; with a file, the format to the file and a table to standard output. If the
/// file cannot be written, the result takes the table's place, so that it is not lost.
template <typename Report>
void write_result(const Report& report, const BenchOptions& options) {
  std::string text = report(format_of(options.format));
  if (!options.output.empty()) {
    try {
      write_file(options.output, text);
    } catch (const Failure& failure) {
      Output(false).write(text);
      fail(failure.code(), "{}; the result is on standard output", failure.what());
    }
    text = report(Format::markdown);
  }
  Output(false).write(text);
}

/// Loads model files, then synthetic models, one after the other.
class Models {
 public:
  explicit Models(const BenchOptions& options) : options_(options), names_(options.models) {
    const std::vector<std::string> synthetic = bench::synthetic_list(options.synthetic);
    names_.insert(names_.end(), synthetic.begin(), synthetic.end());
  }

  const std::vector<std::string>& names() const { return names_; }
  skipstone::Engine load_next() {
    const std::string& name = names_[next_++];
    return next_ > options_.models.size() ? load_synthetic(name, options_.engine) : load_engine(name, options_.engine);
  }

 private:
  const BenchOptions& options_;
  std::vector<std::string> names_;
  std::size_t next_ = 0;
};

Sweep sweep_model(const skipstone::Engine& engine, const std::string& model, const std::vector<Prompt>& prompts,
                  const std::vector<std::string>& drafters, const BenchOptions& options) {
  const bench::SweepOptions sweep_options{.drafters = options.drafters.empty() ? std::vector<std::string>{"none", "auto"} : drafters,
                                          .prompts_file = options.prompts,
                                          .model_path = model,
                                          .max_tokens = static_cast<std::uint32_t>(options.max_tokens),
                                          .repeats = repetitions(options, 1),
                                          .made_up_tokens = options.made_up() ? options.made_up_tokens : 0,
                                          .sampling = options.sampling,
                                          .read_once = options.read_once,
                                          .rank = job::place().rank,
                                          .ranks = job::place().ranks};
  Sweep sweep = options.preset.empty()
                    ? bench::run_sweep(engine, prompts, sweep_options)
                    : bench::run_preset(engine, prompts, {options.preset, options.skip_set, options.plot}, sweep_options);
  check_validation(engine);
  return sweep;
}

/// Each rank of a job runs its part of the prompts, and rank 0 collects all parts.
template <typename Measure>
Sweep sweep_in_ranks(const Measure& measure) {
  Sweep sweep = measure();
  const job::Place place = job::place();
  if (place.ranks == 1) return sweep;
  const auto all = job::gather(bench::rank_lines(sweep, place.rank));
  if (place.rank == 0) bench::merge_ranks(sweep, all);
  return sweep;
}

/// Refuses options that do not apply to a job that splits prompts over its ranks.
void check_ranks(BenchOptions& options) {
  const job::Place place = job::place();
  if (place.ranks == 1) return;
  if (options.prompts.empty() || !options.preset.empty()) {
    fail(ExitCode::usage,
         "in {} ranks bench shares out prompts; name a file of them with --prompts FILE, without --preset, or share layers with --devices "
         "mpi",
         place.ranks);
  }
  if (options.engine.device_option->count() == 0) options.engine.rank_device = job::device();
  if (place.rank > 0) options.output = options.save_tokens = "";
}

/// Calls `measure` for each model and keeps the results from before a failure. `complete`: whether a result is usable.
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
  if (results.empty()) fail(ExitCode::interrupted, "interrupted before anything was measured completely");
  return failed;
}

ExitCode conclude(const std::exception_ptr& failed) {
  if (failed) std::rethrow_exception(failed);
  if (!interrupt::requested()) return ExitCode::ok;
  note("interrupted: the result has what was complete");
  return ExitCode::interrupted;
}

std::vector<Prompt> prompts_of(const BenchOptions& options) {
  if (options.made_up()) return {};
  const auto limit = static_cast<std::size_t>(options.limit);
  if (options.preset != bench::task_preset) return read_prompts(options.prompts, limit);
  return bench::first_of_each_task(read_prompts(options.prompts, 0), limit);
}

ExitCode measure_drafters(BenchOptions& options) {
  const std::vector<std::string> drafters = bench::drafter_list(options.drafters);
  if (bench::names_all(options.drafters)) options.sampling.draft_optional = 1;
  check_sweep(options, drafters);
  const std::vector<Prompt> prompts = prompts_of(options);
  interrupt::install();
  std::vector<Sweep> sweeps;
  Models models(options);
  const std::exception_ptr failed = measure_each(
      models.names(), sweeps,
      [&](const std::string& model) {
        return sweep_in_ranks([&] { return sweep_model(models.load_next(), model, prompts, drafters, options); });
      },
      [](const Sweep& sweep) { return !sweep.runs.empty() || job::place().rank > 0; });
  if (job::place().rank > 0) return conclude(failed);
  write_result([&](Format format) { return bench::report(sweeps, format); }, options);
  if (!options.save_tokens.empty()) write_file(options.save_tokens, bench::plain_tokens(sweeps.front()));
  for (const Sweep& sweep : sweeps) {
    if (const std::string sentence = bench::lossless_violation(sweep); !sentence.empty()) fail(ExitCode::failure, "{}", sentence);
  }
  return conclude(failed);
}

/// Nullopt if the device has no memory left for two buffers: bandwidth shares are then omitted.
std::optional<double> copy_bandwidth(const EngineOptions& options) {
  try {
    return skipstone::copy_bandwidth(options.device_option->count() > 0 ? options.device.c_str() : nullptr);
  } catch (const skipstone::error& error) {
    if (error.status() != SKIPSTONE_OUT_OF_MEMORY) throw;
    note("warning: the copy bandwidth is not measured: {}", error.what());
    return std::nullopt;
  }
}

ExitCode measure_tests(BenchOptions& options) {
  const std::vector<bench::Test> tests = check_speed(options);
  Models models(options);
  interrupt::install();
  std::optional<double> copies;
  std::vector<Speed> speeds;
  const auto measure = [&](const std::string& model) {
    if (speeds.empty()) copies = copy_bandwidth(options.engine);
    const skipstone::Engine engine = models.load_next();
    Speed speed =
        bench::measure_speed(engine, model, copies, tests, {.repetitions = repetitions(options, 5), .warm_up = !options.no_warm_up});
    check_validation(engine);
    return speed;
  };
  const std::exception_ptr failed =
      measure_each(models.names(), speeds, measure, [](const Speed& speed) { return !speed.results.front().seconds.empty(); });
  if (options.preset == bench::call_preset && !options.plot.empty()) {
    write_file(options.plot, svg(bench::call_plot(speeds.front())));
  }
  write_result([&](Format format) { return bench::speed_report(speeds, format); }, options);
  return conclude(failed);
}

ExitCode measure(BenchOptions options) {
  settle_output(options);
  if (compares_bundled_prompts(options)) {
    options.prompts = bundled_prompts();  // "" where they are not there, and the tests then are llama-bench's
    if (!options.prompts.empty() && options.limit == 0) options.limit = bench::bundled_prompts_read;
  }
  check_ranks(options);
  options.drafting.give_to(options.sampling);
  const std::optional<skipstone::Grammar> grammar = options.fitting.make(false);
  if (grammar) options.sampling.grammar = grammar->get();
  options.experiments.synthetic_acceptance = options.acceptance.data();
  options.experiments.synthetic_acceptance_count = options.acceptance.size();
  options.sampling.experiments = &options.experiments;
  if (!options.output.empty()) check_writable(options.output);
  options.models = bench::model_list(options.models);
  if (options.models.empty() && options.synthetic.empty()) options.models = {bundled_model()};
  std::ranges::transform(options.models, options.models.begin(), model_file);
  return options.sweeps() ? measure_drafters(options) : measure_tests(options);
}

}  // namespace

void add_bench(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("bench", "Measure speed: prompts, decoding, rows; with --prompts drafters against plain decoding");
  const auto options = std::make_shared<BenchOptions>();
  bench::add_options(*command, *options);
  command->callback([options, &code] { code = job::run_shared([&] { return measure(*options); }); });
}

}  // namespace cli
