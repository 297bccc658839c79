// skipstone_inspect(): what is in a model file.
#include <string>
#include <utility>
#include <variant>

#include "api/engine_options.h"
#include "api/guard.h"
#include "engine/engine.h"
#include "engine/model_file.h"
#include "gguf/gguf.h"
#include "gguf/traits.h"
#include "json/json.h"
#include "model/config.h"
#include "text/pretokenizer.h"

namespace skipstone::api {
namespace {

Json metadata_json(const gguf::File& file) {
  Json list = Json::array();
  for (const gguf::Pair& pair : file.metadata()) {
    list.push_back({{"key", gguf::escaped(pair.key)}, {"type", gguf::type_name(pair.value)}, {"value", gguf::to_display(pair.value)}});
  }
  return list;
}

Json tensors_json(const gguf::File& file) {
  Json list = Json::array();
  for (const gguf::Tensor& tensor : file.tensors()) {
    Json shape = Json::array();
    for (std::uint32_t i = 0; i < tensor.dimensions; ++i) shape.push_back(tensor.shape[i]);
    list.push_back({{"name", gguf::escaped(tensor.name)},
                    {"type", gguf::traits(tensor.type).name},
                    {"shape", std::move(shape)},
                    {"bytes", tensor.data.size()}});
  }
  return list;
}

/// Neighbouring layers that compute alike, and what they compute.
Json layers_json(const model::Config& config) {
  Json list = Json::array();
  for (const model::LayerGroup& group : model::layer_groups(config)) {
    Json object{{"first", group.first}, {"last", group.last}};
    for (const auto& [name, value] : model::facts_of(group.layer)) {
      std::visit([&, key = name](const auto& fact) { object[key] = fact; }, value);
    }
    list.push_back(std::move(object));
  }
  return list;
}

Json model_json(const model::Config& config) {
  return {{"architecture", gguf::escaped(config.architecture)},
          {"name", gguf::escaped(config.name)},
          {"layers", config.layer_count()},
          {"width", config.width},
          {"heads", config.attention().heads},
          {"kv_heads", config.attention().kv_heads},
          {"head_dim", config.attention().head_dim},
          {"ffn", config.ffn()},
          {"vocabulary", config.vocabulary},
          {"context_trained", config.context_trained},
          {"rope_dim", config.rope_dim},
          {"rope_pairs", config.rope_pairs == model::RopePairs::halves ? "halves" : "neighbours"},
          {"rope_base", config.rope_base},
          {"local_rope_base", config.local_rope_base},
          {"rope_scale", config.rope_scale},
          {"rope_factors", config.rope_factors},
          {"rope_factors_long", config.rope_factors_long},
          {"rope_original_context", config.rope_original_context},
          {"rope_magnitude", config.rope_magnitude},
          {"temperature", config.temperature},
          {"temperature_context", config.temperature_context},
          {"attention_scale", config.attention().scale},
          {"attention_softcap", config.attention().softcap},
          {"final_softcap", config.final_softcap},
          {"embedding_scale", config.embedding_scale},
          {"residual_scale", config.residual_scale},
          {"logit_scale", config.logit_scale},
          {"tied_embeddings", config.tied_embeddings},
          {"prediction_heads", config.prediction_layers.size()},
          {"layer_groups", layers_json(config)},
          {"description", model::describe(config)}};
}

Json plan_json(const engine::MemoryPlan& plan) {
  return {{"context", plan.context},         {"kv_type", to_string(plan.kv_format)},
          {"weights", plan.weights},         {"kv", plan.kv},
          {"kv_read", plan.kv_read},         {"kv_without_windows", plan.kv_without_windows},
          {"activations", plan.activations}, {"total", plan.total()},
          {"working", plan.working()},       {"host_available", plan.host_available},
          {"experts", plan.experts}};
}

Json describe(const skipstone_inspect_params& params) {
  const engine::KvTypes kv = kv_types(params.kv_type, params.kv_type_k, params.kv_type_v);
  const std::string pre = text_or_empty(params.pre_tokenizer);
  if (!pre.empty()) text::PreTokenizer::require(pre);
  const std::string mtp = text_or_empty(params.mtp_path);
  gguf::File file = gguf::File::open(text_or_empty(params.model_path));
  if (!mtp.empty()) file = model::with_prediction_heads(std::move(file), mtp);
  std::uint64_t parameters = 0;
  for (const gguf::Tensor& tensor : file.tensors()) parameters += tensor.elements();
  Json document = {{"path", file.path()},
                   {"mtp_path", mtp},
                   {"version", file.version()},
                   {"bytes", file.file_bytes()},
                   {"fingerprint", file.fingerprint()},
                   {"parameters", parameters},
                   {"metadata", metadata_json(file)},
                   {"tensor_types", tensor_types_json(file)},
                   {"tensors", tensors_json(file)},
                   {"model", nullptr},
                   {"unsupported", ""},
                   {"memory_plan", nullptr}};
  try {
    const model::Config config = model::Config::from(file);
    document["model"] = model_json(config);
    engine::load_model_file(file, config, pre);
    document["memory_plan"] = plan_json(engine::plan_memory(file, config, params.context, kv));
  } catch (const Error& error) {
    // A sound file that this build does not run is still worth looking at; a damaged one is not.
    if (error.code() != Code::unsupported) throw;
    document["unsupported"] = error.what();
  }
  return document;
}

}  // namespace

template <>
skipstone_inspect_params defaults<skipstone_inspect_params>() {
  skipstone_inspect_params params{};
  params.kv_type = SKIPSTONE_KV_AUTOMATIC;
  return params;
}

}  // namespace skipstone::api

using namespace skipstone;

extern "C" {

const char* skipstone_architectures(void) { return model::architecture_names(); }

void skipstone_inspect_params_init(skipstone_inspect_params* params, size_t struct_size) { api::init(params, struct_size); }

skipstone_status skipstone_inspect(const skipstone_inspect_params* given, char** json) {
  return api::guard([&] {
    api::require(json, "json");
    *json = nullptr;
    const auto params = api::read_params(given);
    api::require(params.model_path, "model_path");
    *json = api::copy_string(api::print(api::describe(params)));
  });
}

}  // extern "C"
