// skipstone_search_skip_set(): a skip set for a model, searched by a strategy of the caller's.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>

#include "api/guard.h"
#include "api/handles.h"
#include "engine/skip_search.h"
#include "json/json.h"
#include "skipstone/skipstone_experimental.h"
#include "skipstone/tools.h"
#include "speculation/search/profile.h"
#include "text/tokenizer.h"

namespace skipstone::api {
namespace {

/// The caller's callbacks as a strategy of the search.
class GivenStrategy final : public speculation::search::Strategy {
 public:
  GivenStrategy(const skipstone_search_strategy& callbacks, std::uint32_t layers) : callbacks_(callbacks), layers_(layers) {
    require(callbacks.name, "the strategy's name");
    if (callbacks.next == nullptr || callbacks.tell == nullptr) fail(Code::invalid_argument, "the strategy has no next or no tell");
  }
  std::string_view name() const override { return callbacks_.name; }
  std::optional<exec::LayerPlan> next() override {
    std::array<char, 8192> text{};  // longer than the notation of any set
    if (callbacks_.next(text.data(), text.size(), callbacks_.user_data) != 0) return std::nullopt;
    text.back() = '\0';
    return exec::LayerPlan::parse(text.data(), layers_);
  }
  void tell(const exec::LayerPlan& set, double value) override { callbacks_.tell(set.print(layers_).c_str(), value, callbacks_.user_data); }

 private:
  skipstone_search_strategy callbacks_;
  std::uint32_t layers_;
};

engine::SearchOptions options_from(const skipstone_tune_params& params, const engine::Engine& engine) {
  engine::SearchOptions options;
  require_array(params.prompts, params.prompt_count, most_files, "prompts");
  for (std::size_t i = 0; i < params.prompt_count; ++i) {
    require(params.prompts[i], "a prompt");
    options.prompts.push_back(engine.tokenizer().encode(params.prompts[i], true, true));
  }
  options.prompts_name = text_or_empty(params.prompts_name);
  options.profile_path = text_or_empty(params.profile_path);
  options.minutes = params.minutes;
  options.iterations = params.iterations;
  options.tokens = params.tokens;
  options.seed = params.seed;
  options.baseline = params.baseline != 0;
  if (params.progress != nullptr) {
    options.progress = [&params, within = &engine](const engine::SearchEvent& event) {
      const Within here(within);
      const skipstone_tune_step step{event.stage.c_str(),    event.done,    event.seconds,
                                     event.evaluations,      event.speedup, event.skip_set.c_str(),
                                     event.strategy.c_str(), sizeof(step)};
      return params.progress(&step, params.user_data) == 0;
    };
  }
  return options;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
}

Json candidate_json(const engine::SearchCandidate& candidate, std::uint32_t layers) {
  const bool set = candidate.is_set();
  return {{"name", candidate.name},
          {"draft", candidate.specification},
          {"strategy", candidate.strategy},
          {"skip_set", candidate.skip_set},
          {"skipped", set ? exec::LayerPlan::parse(candidate.skip_set, layers).skipped_sublayers(layers) : 0},
          {"expected", set ? speculation::search::to_json(candidate.best.expected) : Json()},
          {"speedup", candidate.speedup},
          {"quartiles", {quantile(candidate.speedups, 0.25), quantile(candidate.speedups, 0.75)}},
          {"acceptance", candidate.acceptance},
          {"tokens_per_round", candidate.tokens_per_round}};
}

Json report_json(const engine::SearchReport& report) {
  Json strategies = Json::array(), candidates = Json::array(), costs = Json::array();
  for (const engine::SearchReport::Trajectory& trajectory : report.trajectories) {
    strategies.push_back({{"strategy", trajectory.strategy},
                          {"evaluations", trajectory.evaluations},
                          {"seconds", trajectory.seconds},
                          {"best", trajectory.best},
                          {"best_after", trajectory.best_after}});
  }
  for (const engine::SearchCandidate& candidate : report.candidates) candidates.push_back(candidate_json(candidate, report.profile.layers));
  for (const auto& [rows, cost] : report.costs.buckets())
    costs.push_back({{"rows", rows}, {"attention", cost.attention}, {"mlp", cost.mlp}, {"rest", cost.rest}});
  return {{"profile", Json::parse(speculation::search::print(report.profile))},
          {"interrupted", report.interrupted},
          {"stopped_early", report.stopped_early},
          {"evaluations", report.evaluations},
          {"resumed", report.resumed},
          {"prompts", {{"search", report.search_prompts}, {"runs", report.run_prompts}}},
          {"runs", report.runs},
          {"seconds",
           {{"texts", report.text_seconds},
            {"costs", report.cost_seconds},
            {"search", report.search_seconds},
            {"runs", report.run_seconds},
            {"all", report.seconds}}},
          {"strategies", std::move(strategies)},
          {"candidates", std::move(candidates)},
          {"costs", std::move(costs)}};
}

}  // namespace

template <>
skipstone_tune_params defaults<skipstone_tune_params>() {
  const engine::SearchOptions defaults;
  skipstone_tune_params params{};
  params.minutes = defaults.minutes;
  params.tokens = defaults.tokens;
  params.seed = defaults.seed;
  params.baseline = defaults.baseline ? 1 : 0;
  return params;
}

template <>
skipstone_search_strategy defaults<skipstone_search_strategy>() {
  return {};
}

}  // namespace skipstone::api

using namespace skipstone;

extern "C" {

void skipstone_tune_params_init(skipstone_tune_params* params, size_t struct_size) { api::init(params, struct_size); }

skipstone_status skipstone_search_skip_set(skipstone_engine* engine, const skipstone_tune_params* given,
                                           const skipstone_search_strategy* strategy, char** json) {
  return api::guard([&] {
    api::require(engine, "engine");
    api::require(strategy, "strategy");
    api::require(json, "json");
    *json = nullptr;
    const auto params = api::read_params(given);
    const auto held = engine->engine;  // a callback may free the handle
    api::Within::require_outside(held.get());
    engine::SearchOptions options = api::options_from(params, *held);
    options.strategy = std::make_unique<api::GivenStrategy>(api::read_params(strategy), held->config().layer_count());
    const engine::SearchReport report = engine::search_skip_set(held, options);
    *json = api::copy_string(api::print(api::report_json(report)));
  });
}

}  // extern "C"
