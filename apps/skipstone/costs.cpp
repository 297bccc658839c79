#include "costs.h"

#include <fmt/format.h>

#include "exit_code.h"
#include "interrupt.h"
#include "json/json.h"
#include "model_path.h"
#include "output.h"
#include "progress.h"
#include "skipstone/skipstone_experimental.hpp"

namespace cli {
namespace {

using skipstone::Json;

std::string costs_text(const Json& costs) {
  std::string text =
      fmt::format("{} on {} ({}): microseconds of passes at {} tokens of text, by {}\n\n", costs["model"].get<std::string>(),
                  costs["device"].get<std::string>(), costs["driver"].get<std::string>(), costs["position"].get<std::uint32_t>(),
                  costs["clock"].get<std::string>() == "wall" ? "the host's clock" : "the device's clock");
  text += fmt::format("{:>6}{:>14}{:>10}{:>12}{:>12}{:>12}{:>12}{:>12}\n", "rows", "whole model", "relative", "fixed", "attention", "MLP",
                      "output", "host");
  for (const Json& pass : costs["passes"]) {
    const auto number = [&](const char* name) { return pass[name].get<double>(); };
    text += fmt::format("{:>6}{:>14.1f}{:>10.2f}{:>12.1f}{:>12.1f}{:>12.1f}{:>12.1f}{:>12.1f}\n", pass["rows"].get<std::uint32_t>(),
                        number("verify"), number("relative"), number("fixed"), number("attention"), number("mlp"), number("output"),
                        number("host"));
  }
  text += fmt::format("\nattention and MLP: one sublayer of {} each. One draft that leaves after\n", costs["layers"].get<std::uint32_t>());
  for (const Json& exit : costs["exits"]) {
    text += fmt::format("{:>6} layers{:>14.1f}{:>10.2f}\n", exit["layers"].get<std::uint32_t>(), exit["draft"].get<double>(),
                        exit["relative"].get<double>());
  }
  return text;
}

}  // namespace

void print_costs(const std::string& model, const EngineOptions& options, bool json) {
  interrupt::install();
  const std::string path = model.empty() ? bundled_model() : model;
  const skipstone::Engine engine = load_engine(path, options);
  std::string report;
  try {
    Progress progress;
    report = skipstone::costs(engine, progress.until_interrupted());
  } catch (const skipstone::error& error) {
    throw_load_failure(error, path);
  }
  Output output(false);
  output.write(json ? report + "\n" : costs_text(Json::parse(report)));
}

}  // namespace cli
