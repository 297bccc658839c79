// skipstone_tune_device() and skipstone_engine_costs(): what was measured, as JSON.
#include <algorithm>
#include <string>

#include "api/engine_options.h"
#include "api/guard.h"
#include "api/handles.h"
#include "api/in_use.h"
#include "json/json.h"
#include "skipstone/skipstone_experimental.h"
#include "tune/tuner.h"

namespace skipstone::api {
namespace {

Json contest_json(const tune::Result& result) {
  Json candidates = Json::array();
  for (const tune::Timed& timed : result.candidates)
    candidates.push_back({{"choice", timed.name}, {"microseconds", timed.microseconds}, {"dropped", timed.dropped}});
  return {
      {"operation", result.operation}, {"subject", result.subject},
      {"rows", result.rows},           {"candidates", std::move(candidates)},
      {"chosen", result.chosen},       {"speedup", result.candidates.front().microseconds / result.candidates[result.chosen].microseconds}};
}

Json about(const engine::Engine& engine) {
  return {{"device", engine.device().name}, {"driver", engine.device().driver_name}, {"model", engine.config().name}};
}

Json report_json(const engine::Engine& engine, const tune::Report& report) {
  Json contests = Json::array();
  for (const tune::Result& result : report.results) contests.push_back(contest_json(result));
  Json document = about(engine);
  document["seconds"] = report.seconds;
  document["left_out"] = report.left_out;
  document["contests"] = std::move(contests);
  return document;
}

/// Early exits to show: every layer of small models, about ten of large ones.
Json exits_json(const exec::CostTable& costs, double one) {
  Json exits = Json::array();
  const std::uint32_t step = (costs.layers() + 9) / 10;
  for (std::uint32_t layers = step; layers < costs.layers(); layers += step) {
    exec::LayerPlan plan = exec::LayerPlan::full(costs.layers());
    plan.end = layers;
    const double draft = costs.draft(plan).value();
    exits.push_back({{"layers", layers}, {"draft", draft}, {"relative", draft / one}});
  }
  return exits;
}

Json costs_json(const engine::Engine& engine, const exec::CostTable& costs) {
  const double one = costs.verify(1).value();
  Json passes = Json::array();
  for (const auto& [rows, measured] : costs.measured()) {
    const exec::CostTable::Parts parts = costs.parts(rows).value();
    const double verify = costs.verify(rows).value();
    passes.push_back({{"rows", rows},
                      {"verify", verify},
                      {"relative", verify / one},
                      {"fixed", parts.fixed},
                      {"attention", parts.attention},
                      {"mlp", parts.mlp},
                      {"output", parts.output},
                      {"host", parts.host}});
  }
  Json document = about(engine);
  document["fingerprint"] = engine.model_fingerprint();
  document["context"] = engine.memory().context;
  document["layers"] = costs.layers();
  document["position"] = costs.position();
  document["clock"] = costs.clock();
  document["passes"] = std::move(passes);
  document["exits"] = exits_json(costs, one);
  return document;
}

}  // namespace
}  // namespace skipstone::api

using namespace skipstone;

extern "C" {

skipstone_status skipstone_tune_device(const skipstone_engine_params* given, double seconds, char** json) {
  return api::guard([&] {
    api::require(json, "json");
    *json = nullptr;
    if (!(seconds > 0 && seconds <= 3600)) fail(Code::invalid_argument, "tuning takes above 0 and at most 3600 seconds, not {}", seconds);
    engine::EngineOptions options = api::engine_options(api::read_params(given));
    options.tuning = engine::Tuning::off;
    const auto engine = engine::Engine::load(options);
    *json = api::copy_string(api::print(api::report_json(*engine, engine->tune(seconds, options.progress))));
  });
}

skipstone_status skipstone_engine_costs(skipstone_engine* engine, skipstone_progress_fn progress, void* user_data, char** json) {
  return api::guard([&] {
    api::require(engine, "engine");
    api::require(json, "json");
    *json = nullptr;
    const auto held = engine->engine;  // a callback may free the handle
    api::Within::require_outside(held.get());
    const auto told = api::within(held.get(), api::progress_from(progress, user_data, "the measurement"));
    *json = api::copy_string(api::print(api::costs_json(*held, held->costs(told))));
  });
}

}  // extern "C"
