// skipstone_cosines(): how much a model's sublayers turn the residual stream.
#include <utility>
#include <vector>

#include "api/engine_options.h"
#include "api/guard.h"
#include "api/handles.h"
#include "api/in_use.h"
#include "engine/sublayer_cosines.h"
#include "json/json.h"
#include "skipstone/skipstone_experimental.h"
#include "text/tokenizer.h"

namespace skipstone::api {
namespace {

using engine::Spread;
using engine::SublayerCosines;

/// `cosines`: [prompt][layer].
Json sublayers_json(const std::vector<std::vector<float>>& cosines, double microseconds) {
  std::vector<double> all;
  for (const std::vector<float>& prompt : cosines) all.insert(all.end(), prompt.begin(), prompt.end());
  const Spread spread = engine::spread_of(std::move(all));
  Json layers = Json::array();
  for (std::size_t layer = 0; layer < cosines.front().size(); ++layer) {
    std::vector<double> of_layer;
    of_layer.reserve(cosines.size());
    for (const std::vector<float>& prompt : cosines) of_layer.push_back(static_cast<double>(prompt[layer]));
    const Spread prompts = engine::spread_of(std::move(of_layer));
    layers.push_back({{"mean", prompts.mean}, {"min", prompts.least}, {"max", prompts.most}});
  }
  return {{"min", spread.least},     {"max", spread.most},           {"mean", spread.mean},
          {"median", spread.median}, {"microseconds", microseconds}, {"layers", std::move(layers)}};
}

Json reading_json(const SublayerCosines& cosines) {
  std::vector<double> plain, attention, all, attention_added, all_added;
  for (const SublayerCosines::Reading& prompt : cosines.reading) {
    plain.push_back(1e6 * prompt.plain);
    attention.push_back(1e6 * prompt.attention);
    all.push_back(1e6 * prompt.all);
    attention_added.push_back(1e6 * (prompt.attention - prompt.plain));
    all_added.push_back(1e6 * (prompt.all - prompt.plain));
  }
  return {{"plain", engine::spread_of(plain).median},
          {"attention", engine::spread_of(attention).median},
          {"all", engine::spread_of(all).median},
          {"attention_added", engine::spread_of(attention_added).median},
          {"all_added", engine::spread_of(all_added).median}};
}

}  // namespace

template <>
skipstone_cosine_params defaults<skipstone_cosine_params>() {
  skipstone_cosine_params params{};
  return params;
}

}  // namespace skipstone::api

using namespace skipstone;

extern "C" {

void skipstone_cosine_params_init(skipstone_cosine_params* params, size_t struct_size) { api::init(params, struct_size); }

skipstone_status skipstone_cosines(skipstone_engine* handle, const skipstone_cosine_params* given, char** json) {
  return api::guard([&] {
    api::require(handle, "engine");
    api::require(json, "json");
    *json = nullptr;
    const auto params = api::read_params(given);
    const auto held = handle->engine;  // a callback may free the handle
    engine::Engine& engine = *held;
    api::Within::require_outside(&engine);
    api::require_array(params.prompts, params.prompt_count, api::most_files, "prompts");
    std::vector<std::vector<text::Token>> prompts;
    for (std::size_t i = 0; i < params.prompt_count; ++i) {
      api::require(params.prompts[i], "a prompt");
      prompts.push_back(engine.tokenizer().encode(params.prompts[i], true, true));
    }
    const auto progress = api::within(&engine, api::progress_from(params.progress, params.user_data, "the measurement"));
    const engine::SublayerCosines cosines = engine::measure_cosines(engine, prompts, progress);
    const auto parts = engine.costs(progress).parts(1).value();
    const Json document = {{"model", engine.config().name},
                           {"fingerprint", engine.model_fingerprint()},
                           {"device", engine.device().name},
                           {"driver", engine.device().driver_name},
                           {"layers", engine.config().layer_count()},
                           {"prompts", cosines.reading.size()},
                           {"left_out", cosines.left_out},
                           {"tokens", cosines.tokens},
                           {"attention", api::sublayers_json(cosines.attention, parts.attention)},
                           {"mlp", api::sublayers_json(cosines.mlp, parts.mlp)},
                           {"reading", api::reading_json(cosines)}};
    *json = api::copy_string(api::print(document));
  });
}

}  // extern "C"
