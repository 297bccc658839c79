// skipstone tune-device: how this device runs a model's kernels fastest.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "commands.h"
#include "json/json.h"
#include "options/engine_options.h"
#include "options/number_option.h"
#include "skipstone/skipstone_experimental.hpp"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli {
namespace {

using skipstone::Json;

struct DeviceTuneOptions {
  EngineOptions engine;
  std::string model;
  double seconds = 60;
  bool json = false;
};

std::string contest_text(const Json& contest) {
  const auto chosen = contest["chosen"].get<std::size_t>();
  std::string text = fmt::format("{} {}, {} row{}\n", contest["operation"].get<std::string>(), contest["subject"].get<std::string>(),
                                 contest["rows"].get<std::uint32_t>(), contest["rows"].get<std::uint32_t>() == 1 ? "" : "s");
  std::size_t i = 0;
  for (const Json& candidate : contest["candidates"]) {
    text += fmt::format("  {} {:<44}{:>12.1f} us{}{}\n", i == chosen ? '*' : ' ', candidate["choice"].get<std::string>(),
                        candidate["microseconds"].get<double>(), i == 0 ? "  built in" : "",
                        candidate["dropped"].get<bool>() ? "  dropped" : "");
    ++i;
  }
  return text;
}

std::string contests_text(const Json& report) {
  std::string text;
  std::size_t changed = 0;
  for (const Json& contest : report["contests"]) {
    text += contest_text(contest);
    if (contest["chosen"].get<std::size_t>() != 0) ++changed;
  }
  text += fmt::format("\n{} with {}: {} of {} choices are not the built-in ones, found in {:.1f} s\n", report["device"].get<std::string>(),
                      report["model"].get<std::string>(), changed, report["contests"].size(), report["seconds"].get<double>());
  if (const auto left = report["left_out"].get<std::size_t>(); left > 0)
    text += fmt::format("{} contests were left out for lack of time; give them more with --seconds\n", left);
  return text;
}

ExitCode tune_device(const DeviceTuneOptions& options) {
  if (!(options.seconds > 0 && options.seconds <= 3600))
    fail(ExitCode::usage, "--seconds is above 0 and at most 3600, not {}", options.seconds);
  interrupt::install();
  const std::string model = model_path(options.model);
  Output output(false);
  std::string report;
  try {
    Progress progress;
    report = skipstone::tune_device(engine_params(model, options.engine), options.seconds, progress.until_interrupted());
  } catch (const skipstone::error& error) {
    throw_load_failure(error, engine_params(model, options.engine));
  }
  output.write(options.json ? report + "\n" : contests_text(Json::parse(report)));
  return ExitCode::ok;
}

}  // namespace

void add_tune_device(CLI::App& app, ExitCode& code) {
  CLI::App* command =
      app.add_subcommand("tune-device", "Measure how the device runs a model's kernels fastest, and keep it for later runs");
  const auto options = std::make_shared<DeviceTuneOptions>();
  add_model_option(*command, options->model, "Model file (GGUF) whose weights are used; default: the bundled model");
  add_pre_option(*command, options->engine.pre);
  add_device_option(*command, options->engine);
  add_memory_option(*command, options->engine.memory);
  add_number(*command, "--seconds", options->seconds, "Stop after about this long")->envname("SKIPSTONE_SECONDS")->capture_default_str();
  command->add_flag("--json", options->json, "JSON instead of a table")->envname("SKIPSTONE_JSON");
  command->footer(
      std::string(
          "What is found holds for models on this device with weights of the same types, about the same width and the same heads.\n") +
      "No text depends on it; --no-tune of other commands does without.\n\nExample:\n  skipstone tune-device -m model.gguf\n\n" +
      exit_code_help);
  command->callback([options, &code] { code = tune_device(*options); });
}

}  // namespace cli
