// skipstone tune: searches the sublayers that drafts of a model skip.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/escape.h"
#include "base/platform/files.h"
#include "commands.h"
#include "job/job.h"
#include "json/json.h"
#include "options/engine_options.h"
#include "options/number_option.h"
#include "prompts/prompts.h"
#include "results/fitted_grid.h"
#include "results/formats.h"
#include "skipstone/tools.hpp"
#include "terminal/interrupt.h"
#include "terminal/output.h"
#include "tune/tune_ranks.h"

namespace cli {
namespace {

using skipstone::Json;

struct TuneOptions {
  EngineOptions engine;
  std::string model, prompts, profile;
  skipstone_tune_params search = skipstone::tune_params();
  CLI::Option *minutes_option = nullptr, *iterations_option = nullptr;
  bool no_baseline = false, json = false;
};

/// skipstone-py.gguf: skipstone-py.skip.json, in the current folder.
std::string profile_path(const TuneOptions& options, const std::string& model) {
  std::string path =
      options.profile.empty() ? skipstone::platform::text_of(skipstone::platform::path_of(model).stem()) + ".skip.json" : options.profile;
  if (!path.ends_with(".json")) fail(ExitCode::usage, "'{}' is no name for a profile; it has to end in .json", path);
  path = profile_of_rank(path, job::place().rank);
  check_writable(path);
  return path;
}

/// Each rank of a job searches on its own device, in its own order.
void take_share(TuneOptions& options) {
  const job::Place place = job::place();
  if (place.ranks == 1) return;
  options.search.seed += place.rank;
  if (options.iterations_option->count() > 0) {
    options.search.iterations = share_of_iterations(options.search.iterations, place.rank, place.ranks);
  }
  if (options.engine.device_option->count() == 0 && options.engine.devices.empty()) options.engine.rank_device = job::device();
}

/// Prints a line for each better set, and the search's state on the progress line.
class Watch {
 public:
  bool operator()(const skipstone_tune_step& step) {
    if (step.speedup > best_) {
      best_ = step.speedup;
      progress_.clear();
      note("{:5.0f} s {:5} sets  {:.3f} times expected  {} ({})", step.seconds, step.evaluations, step.speedup, step.skip_set,
           step.strategy);
    }
    progress_.update(step.stage, step.done);
    return !interrupt::requested();
  }

  void clear() { progress_.clear(); }

 private:
  double best_ = 0;
  Progress progress_;
};

std::vector<std::string> candidate_row(const Json& candidate) {
  const Json& expected = candidate["expected"];
  const std::uint32_t skipped = candidate["skipped"].get<std::uint32_t>();  // 0: chosen anew for every prompt
  return {candidate["name"].get<std::string>(),
          fmt::format("{:.3f}", candidate["speedup"].get<double>()),
          fmt::format("{:.3f} to {:.3f}", candidate["quartiles"][0].get<double>(), candidate["quartiles"][1].get<double>()),
          expected.is_null() ? "-" : fmt::format("{:.3f}", expected["speedup"].get<double>()),
          fmt::format("{:.1f} %", 100 * candidate["acceptance"].get<double>()),
          fmt::format("{:.2f}", candidate["tokens_per_round"].get<double>()),
          skipped == 0 ? "-" : std::to_string(skipped)};
}

/// What was measured of each candidate, and below it how each is asked for.
std::string candidates_text(const Json& candidates) {
  std::vector<std::vector<std::string>> rows{{"set", "speed-up", "quartiles", "expected", "accepted", "tokens/round", "skipped"}};
  std::string drafters;
  for (const Json& candidate : candidates) {
    rows.push_back(candidate_row(candidate));
    drafters += fmt::format("{}: --draft {}\n", candidate["name"].get<std::string>(), candidate["draft"].get<std::string>());
  }
  return fitted_grid(rows, {}, output_width()) + '\n' + drafters;
}

/// A word as shells of POSIX and PowerShell read it; others than plain ones in quotes.
std::string in_shell(const std::string& word) {
  const bool plain =
      std::ranges::all_of(word, [](unsigned char c) { return std::isalnum(c) != 0 || std::strchr("/\\._-:+,=", c) != nullptr; });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : skipstone::escaped(word)) quoted.append(c == '\'' ? "'\\''" : std::string(1, c));
  return quoted + "'";
}

std::string search_text(const Json& report, const std::string& model, const std::string& path) {
  std::string text;
  const Json& profile = report["profile"];
  for (const Json& strategy : report["strategies"]) {
    text += fmt::format("{:<8}{:>5} sets in {:6.1f} s, best expected {:.3f}\n", strategy["strategy"].get<std::string>(),
                        strategy["evaluations"].get<std::uint32_t>(), strategy["seconds"].get<double>(), strategy["best"].get<double>());
  }
  if (report["stopped_early"].get<bool>()) text += "the search ended early: it no longer found better sets\n";
  if (!report["candidates"].empty()) {
    text += fmt::format("\nReal runs against plain decoding, medians of {}\n\n{}", report["runs"].get<std::uint32_t>(),
                        candidates_text(report["candidates"]));
  }
  const Json& measured = profile["measured"];
  text += fmt::format("\n{}: {}\n", path, profile["skip_set"].get<std::string>());
  if (measured.is_null()) text += "the best set so far, without real runs; the same command continues from here\n";
  if (!measured.is_null() && measured["speedup"].get<double>() <= 1)
    return text + "no set is faster than plain decoding on this device: --draft none is\n";
  return text + fmt::format("\nTo use it:\n  skipstone run -m {} --draft {} -p TEXT\n", in_shell(model), in_shell("skip:" + path));
}

std::string search(const skipstone::Engine& engine, const TuneOptions& options, const std::string& path) {
  const std::vector<Prompt> prompts = read_prompts(options.prompts, 0);
  std::vector<const char*> texts;
  texts.reserve(prompts.size());
  for (const Prompt& prompt : prompts) texts.push_back(prompt.text.c_str());
  skipstone_tune_params params = options.search;
  params.prompts = texts.data();
  params.prompt_count = texts.size();
  params.prompts_name = options.prompts.c_str();
  params.profile_path = path.c_str();
  params.baseline = options.no_baseline ? 0 : 1;
  if (options.iterations_option->count() > 0 && options.minutes_option->count() == 0) params.minutes = 7 * 24 * 60;
  Watch watch;
  try {
    std::string report = skipstone::tune(engine, params, [&watch](const skipstone_tune_step& step) { return watch(step); });
    watch.clear();
    return report;
  } catch (const skipstone::error& error) {
    watch.clear();
    if (error.status() == SKIPSTONE_CANCELLED) fail(ExitCode::interrupted, "{}", error.what());
    throw;
  }
}

/// In rank 0 of a job: the reports of all ranks as one, whose profile is written to `path`. Otherwise this process's report.
Json of_all_ranks(const std::string& report, const std::string& path) {
  const job::Place place = job::place();
  if (place.ranks == 1) return Json::parse(report);
  const auto lines = job::gather(json_line("search", {{"report", report}}));
  if (place.rank > 0) return Json::parse(report);
  std::vector<Json> reports;
  reports.reserve(lines.size());
  for (const auto& line : lines) reports.push_back(Json::parse(line.at("report").get<std::string>()));
  Json document = merge_searches(reports);
  write_file(path, dump(document["profile"], 2) + '\n');
  return document;
}

std::string output_text(const Json& document, const std::string& model, const std::string& path, bool json) {
  if (json) return dump(document, 2) + '\n';
  return document.contains("ranks") ? ranks_text(document) + '\n' + search_text(document, model, path) : search_text(document, model, path);
}

ExitCode tune(TuneOptions options) {
  if (!(options.search.minutes > 0 && options.search.minutes <= 7 * 24 * 60))
    fail(ExitCode::usage, "--minutes is above 0 and at most a week, not {}", options.search.minutes);
  interrupt::install();
  take_share(options);
  const std::string model = model_path(options.model);
  if (options.prompts.empty()) options.prompts = bundled_prompts();
  if (options.prompts.empty()) fail(ExitCode::usage, "no prompts are bundled with this program; name a file of them with --prompts FILE");
  read_prompts(options.prompts, 1);  // refused before a model is loaded
  const std::string path = profile_path(options, model);
  const skipstone::Engine engine = load_engine(model, options.engine);
  job::wait_until_ready();
  const std::string report = search(engine, options, path);
  if (job::place().rank > 0) check_validation(engine);
  const Json document = of_all_ranks(report, path);
  Output output(false);
  output.write(output_text(document, model, path, options.json));
  check_validation(engine);
  return document["interrupted"].get<bool>() ? ExitCode::interrupted : ExitCode::ok;
}

}  // namespace

void add_tune(CLI::App& app, ExitCode& code) {
  CLI::App* command =
      app.add_subcommand("tune", "Search the sublayers that drafts leave out (Draft & Verify), and write them as a profile");
  const auto options = std::make_shared<TuneOptions>();
  TuneOptions& o = *options;
  o.engine.context = 1024;
  add_model_option(*command, o.model);
  command
      ->add_option("--prompts", o.prompts,
                   "Texts like those that will be continued, 16 or more: see `skipstone bench --help`; default: the bundled ones, edits of "
                   "Python code")
      ->envname("SKIPSTONE_PROMPTS")
      ->type_name("FILE");
  command->add_option("-o,--output", o.profile, "The profile; default: MODEL.skip.json in the current folder")
      ->envname("SKIPSTONE_OUTPUT")
      ->type_name("PROFILE");
  o.minutes_option = add_number(*command, "--minutes", o.search.minutes, "Take about so long for everything")
                         ->envname("SKIPSTONE_MINUTES")
                         ->capture_default_str();
  o.iterations_option = add_number(*command, "--iterations", o.search.iterations, "Number of sets to try, whatever time it takes")
                            ->envname("SKIPSTONE_ITERATIONS")
                            ->check(CLI::PositiveNumber)
                            ->excludes(o.minutes_option);
  add_number(*command, "-n,--predict", o.search.tokens, "Tokens of each text")->envname("SKIPSTONE_PREDICT")->capture_default_str();
  add_number(*command, "--seed", o.search.seed, "Same seed, same order of sets")->envname("SKIPSTONE_SEED")->capture_default_str();
  command->add_flag("--no-baseline", o.no_baseline, "No random search beside it; all of the time is the search's")
      ->envname("SKIPSTONE_NO_BASELINE");
  add_engine_options(*command, o.engine);
  command->add_flag("--json", o.json, "JSON instead of tables")->envname("SKIPSTONE_JSON");
  command->footer(
      "Sets are scored on what the model makes of the first eight prompts: one pass over its own text says what drafts would have been,\n"
      "measured costs what they would have cost. The best sets of the search, of Draft on the Fly and of a random search of the same\n"
      "length then continue the next eight prompts beside plain decoding, and the fastest becomes the profile. Ctrl-C keeps the best so\n"
      "far; the same command continues from what is in PROFILE's .state.json.\n\n"
      "In an MPI job (mpirun -n N skipstone tune) the ranks share the sets out, and the fastest profile is the result.\n\n"
      "Example:\n"
      "  skipstone tune -m model.gguf --prompts HumanEval.jsonl.gz -o code.json\n"
      "  skipstone run -m model.gguf --draft skip:code.json -p \"def main():\" --stats\n"
      "  skipstone bench -m model.gguf --prompts HumanEval.jsonl.gz --draft none,asd,skip:code.json\n\n" +
      std::string(exit_code_help));
  command->callback([options, &code] { code = job::run_shared([&] { return tune(*options); }); });
}

}  // namespace cli
