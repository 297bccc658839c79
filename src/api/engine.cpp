// Engines and tokens.
#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/engine_options.h"
#include "api/guard.h"
#include "api/handles.h"
#include "base/poll.h"
#include "engine/engine_state.h"
#include "json/json.h"
#include "model/synthetic.h"

namespace skipstone::api {

template <>
skipstone_engine_params defaults<skipstone_engine_params>() {
  skipstone_engine_params params{};
  params.kv_type = SKIPSTONE_KV_AUTOMATIC;
  params.validation = api::validation_by_default();
  params.model_fd = -1;
  params.experts_on_host = -1;
  return params;
}

}  // namespace skipstone::api

using namespace skipstone;

namespace {

int32_t kv_type_of(KvFormat format) {
  const auto found = std::ranges::find(engine::kv_type_formats, format);
  return static_cast<int32_t>(found - engine::kv_type_formats.begin()) + SKIPSTONE_KV_F16;
}

text::Token special_token(const text::Vocabulary& vocabulary, int32_t kind) {
  switch (kind) {
    case SKIPSTONE_TOKEN_BOS:
      return vocabulary.bos;
    case SKIPSTONE_TOKEN_EOS:
      return vocabulary.eos;
    case SKIPSTONE_TOKEN_EOT:
      return vocabulary.eot;
    case SKIPSTONE_TOKEN_EOM:
      return vocabulary.eom;
    case SKIPSTONE_TOKEN_UNKNOWN:
      return vocabulary.unknown;
    case SKIPSTONE_TOKEN_PADDING:
      return vocabulary.padding;
    case SKIPSTONE_TOKEN_FILL_PREFIX:
      return vocabulary.fill_prefix;
    case SKIPSTONE_TOKEN_FILL_SUFFIX:
      return vocabulary.fill_suffix;
    case SKIPSTONE_TOKEN_FILL_MIDDLE:
      return vocabulary.fill_middle;
    default:
      return -1;
  }
}

void give_text(const std::string& text, char** target, size_t* bytes) {
  *target = api::copy_string(text);
  if (bytes != nullptr) *bytes = text.size();
}

std::vector<text::Token> encoded_text(const skipstone_engine& engine, const char* text, size_t bytes, int add_special, int parse_special) {
  api::require_array(text, bytes, api::most_text_bytes, "bytes of text");
  const auto held = engine.engine;  // a callback may free the handle
  return held->tokenizer().encode({bytes > 0 ? text : "", bytes}, add_special != 0, parse_special != 0);
}

/// `held`: the stages are loaded.
Json stages_json(const std::vector<engine::StageState>& stages, bool held) {
  Json list = Json::array();
  for (const engine::StageState& stage : stages) {
    list.push_back({{"place", stage.place},
                    {"device", stage.device},
                    {"driver", stage.driver},
                    {"layers", {stage.begin, stage.end}},
                    {"weights", stage.weights},
                    {"kv", stage.kv},
                    {"activations", stage.activations},
                    {"available", stage.available},
                    {"host_weights", stage.host_weights},
                    {"experts_on_host", stage.experts_on_host}});
    if (held) list.back().update({{"held", stage.held}, {"host_held", stage.host_held}});
  }
  return list;
}

}  // namespace

extern "C" {

void skipstone_engine_params_init(skipstone_engine_params* params, size_t struct_size) { api::init(params, struct_size); }

const char* skipstone_synthetic_models(void) {
  static const std::string names = [] {
    std::string list;
    for (const model::SyntheticShape& shape : model::synthetic_shapes()) {
      list += list.empty() ? "" : ", ";
      list += shape.name;
    }
    return list;
  }();
  return names.c_str();
}

skipstone_status skipstone_memory_account_create(uint64_t limit, skipstone_make_room_fn make_room, void* user_data,
                                                 skipstone_memory_account** account) {
  return api::guard([&] {
    api::require(account, "account");
    *account = nullptr;
    vk::MemoryAccount::MakeRoom asked;
    if (make_room != nullptr) asked = [=](std::uint64_t bytes) { return make_room(bytes, user_data) != 0; };
    auto handle = std::make_unique<skipstone_memory_account>();
    handle->account = std::make_shared<vk::MemoryAccount>(limit, std::move(asked));
    *account = handle.release();
  });
}

uint64_t skipstone_memory_account_held(const skipstone_memory_account* account) {
  return account == nullptr ? 0 : account->account->held();
}

void skipstone_memory_account_free(skipstone_memory_account* account) { delete account; }

skipstone_status skipstone_engine_load(const skipstone_engine_params* given, skipstone_engine** engine) {
  return api::guard([&] {
    api::require(engine, "engine");
    *engine = nullptr;
    const auto params = api::read_params(given);
    auto handle = std::make_unique<skipstone_engine>();
    handle->engine = engine::Engine::load(api::engine_options(params));
    const vk::Caps& caps = handle->engine->device();
    handle->driver = caps.driver_info.empty() ? caps.driver_name : fmt::format("{} {}", caps.driver_name, caps.driver_info);
    *engine = handle.release();
  });
}

skipstone_status skipstone_plan_devices(const skipstone_engine_params* given, char** json) {
  return api::guard([&] {
    api::require(json, "json");
    *json = nullptr;
    const Json plan = {{"stages", stages_json(engine::plan_devices(api::engine_options(api::read_params(given))), false)}};
    *json = api::copy_string(api::print(plan));
  });
}

void skipstone_engine_free(skipstone_engine* engine) { delete engine; }

skipstone_status skipstone_engine_report(const skipstone_engine* engine, char** json) {
  return api::guard([&] {
    api::require(engine, "engine");
    api::require(json, "json");
    *json = nullptr;
    engine::Engine::State& state = engine->engine->state();
    const auto prefixes = state.caches.prefixes->use();
    const auto passes = state.passes->scheduler().totals();
    Json report = {{"pages", {{"tokens", KV_PAGE}}}}, kept = Json::object();
    for (const exec::MemoryKind kind : exec::memory_kinds) {
      const exec::KvPool::Use use = state.passes->cache().pool(kind).use();
      const char* key = exec::row_of(kind).pages_key;
      report[key].update({{"all", use.pages}, {"used", use.used}, {"shared", use.shared}});
      kept[key] = prefixes.pages[kind];
    }
    kept.update({{"hits", prefixes.hits}, {"tokens", prefixes.tokens}});
    report["prefixes"] = std::move(kept);
    report["passes"] = {{"decoding", passes.passes},
                        {"rows", passes.rows},
                        {"batched", passes.batched},
                        {"prompt", passes.prompt_passes},
                        {"prompt_rows", passes.prompt_rows}};
    if (state.stages) report["stages"] = stages_json(engine->engine->stages(), true);
    *json = api::copy_string(api::print(report));
  });
}

skipstone_status skipstone_engine_get_info(const skipstone_engine* engine, skipstone_engine_info* info) {
  return api::guard([&] {
    api::require(engine, "engine");
    const engine::Engine& e = *engine->engine;
    skipstone_engine_info filled{};
    filled.model_name = e.config().name.c_str();
    filled.architecture = e.config().architecture.c_str();
    filled.fingerprint = e.model_fingerprint().c_str();
    filled.device_name = e.device().name.c_str();
    filled.driver = engine->driver.c_str();
    filled.tier = vk::to_string(e.device().tier());
    filled.layers = e.config().layer_count();
    filled.vocabulary = e.config().vocabulary;
    filled.context = e.memory().context;
    filled.weights_bytes = e.memory().weights;
    filled.kv_bytes = e.memory().kv;
    filled.activation_bytes = e.memory().activations;
    filled.device_bytes = e.device_bytes_held();
    filled.validation_messages = e.validation_messages();
    filled.exit_layer = e.config().exit_layer;
    filled.max_rows = e.max_rows();
    filled.kv_type = kv_type_of(e.memory().kv_format.k);
    filled.model_type = e.facts().type.c_str();
    filled.parameters = e.facts().parameters;
    filled.tensor_bytes = e.facts().file_bytes;
    filled.bytes_per_token = e.facts().bytes_per_token;
    filled.kv_bytes_per_token = e.memory().kv / e.memory().context;
    filled.kv_type_v = kv_type_of(e.memory().kv_format.v);
    filled.context_trained = e.config().context_trained;
    filled.device_kind = vk::to_string(e.device().kind);
    filled.experts_on_host = e.memory().experts_on_host;
    filled.host_bytes = e.host_bytes_held();
    api::give(filled, info);
  });
}

skipstone_status skipstone_tokenize(const skipstone_engine* engine, const char* text, size_t bytes, int add_special, int parse_special,
                                    skipstone_token* tokens, size_t capacity, size_t* count) {
  return api::guard([&] {
    api::require(engine, "engine");
    api::require(count, "count");
    if (capacity > 0) api::require(tokens, "tokens");
    const std::vector<text::Token> encoded = encoded_text(*engine, text, bytes, add_special, parse_special);
    *count = encoded.size();
    if (capacity == 0) return;
    if (encoded.size() > capacity) fail(Code::invalid_argument, "the text has {} tokens; there is room for {}", encoded.size(), capacity);
    std::copy(encoded.begin(), encoded.end(), tokens);
  });
}

skipstone_status skipstone_tokenize_polled(const skipstone_engine* engine, const char* text, size_t bytes, int add_special,
                                           int parse_special, skipstone_progress_fn progress, void* user_data, skipstone_token** tokens,
                                           size_t* count) {
  return api::guard([&] {
    api::require(tokens, "tokens");
    *tokens = nullptr;
    api::require(engine, "engine");
    api::require(count, "count");
    const Poll polled(api::poll_from(progress, user_data, "tokenizing"));
    const std::vector<text::Token> encoded = encoded_text(*engine, text, bytes, add_special, parse_special);
    *tokens = api::copy_tokens(encoded);
    *count = encoded.size();
  });
}

void skipstone_tokens_free(skipstone_token* tokens) { std::free(tokens); }

skipstone_status skipstone_detokenize(const skipstone_engine* engine, const skipstone_token* tokens, size_t count, char** text,
                                      size_t* bytes) {
  return skipstone_detokenize_polled(engine, tokens, count, nullptr, nullptr, text, bytes);
}

skipstone_status skipstone_detokenize_polled(const skipstone_engine* engine, const skipstone_token* tokens, size_t count,
                                             skipstone_progress_fn progress, void* user_data, char** text, size_t* bytes) {
  return api::guard([&] {
    api::require(text, "text");
    *text = nullptr;
    api::require(engine, "engine");
    api::require_array(tokens, count, api::most_tokens, "tokens");
    const Poll polled(api::poll_from(progress, user_data, "detokenizing"));
    const auto held = engine->engine;  // a callback may free the handle
    give_text(held->tokenizer().decode({tokens, count}), text, bytes);
  });
}

skipstone_status skipstone_token_piece(const skipstone_engine* engine, skipstone_token token, char** text, size_t* bytes) {
  return api::guard([&] {
    api::require(text, "text");
    *text = nullptr;
    api::require(engine, "engine");
    give_text(engine->engine->tokenizer().piece(token), text, bytes);
  });
}

skipstone_token skipstone_engine_special_token(const skipstone_engine* engine, int32_t kind) {
  if (engine == nullptr || !engine->engine->has_tokenizer()) return -1;
  return special_token(engine->engine->tokenizer().vocabulary(), kind);
}

int32_t skipstone_engine_ends_generation(const skipstone_engine* engine, skipstone_token token) {
  if (engine == nullptr || !engine->engine->has_tokenizer()) return 0;
  return engine->engine->tokenizer().ends_generation(token) ? 1 : 0;
}

}  // extern "C"
