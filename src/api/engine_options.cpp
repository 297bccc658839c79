#include "api/engine_options.h"

#include <string>

#include "api/guard.h"
#include "api/vulkan_host.h"

namespace skipstone::api {

engine::Progress progress_from(skipstone_progress_fn progress, void* user_data, const char* what) {
  if (progress == nullptr) return {};
  return [=](const std::string& stage, double done) {
    if (progress(stage.c_str(), done, user_data) != 0) fail(Code::cancelled, "{} was stopped while {}", what, stage);
  };
}

engine::EngineOptions engine_options(const skipstone_engine_params& params) {
  if (params.synthetic == nullptr) require(params.model_path, "model_path");
  if (params.synthetic != nullptr && params.model_path != nullptr) {
    fail(Code::invalid_argument, "both a model file ('{}') and a synthetic model ('{}') are named; name one", params.model_path,
         params.synthetic);
  }
  if (params.kv_type < SKIPSTONE_KV_AUTOMATIC || params.kv_type > SKIPSTONE_KV_Q8_0) {
    fail(Code::invalid_argument, "kv_type {} is none of skipstone_kv_type", params.kv_type);
  }
  if (params.tuning < SKIPSTONE_TUNING_AUTOMATIC || params.tuning > SKIPSTONE_TUNING_FIRST_USE) {
    fail(Code::invalid_argument, "tuning {} is none of skipstone_tuning", params.tuning);
  }
  engine::EngineOptions options;
  options.model_path = text_or_empty(params.model_path);
  options.synthetic = text_or_empty(params.synthetic);
  options.device = wanted_device(params.device);
  options.context = params.context;
  options.kv = static_cast<engine::KvType>(params.kv_type);
  options.tuning = static_cast<engine::Tuning>(params.tuning);
  options.validation = params.validation != 0;
  if (params.vulkan != nullptr) options.host = host_device(params.vulkan);
  options.low_priority = params.low_priority != 0;
  options.memory_limit = params.memory_limit;
  options.progress = progress_from(params.progress, params.user_data, "loading");
  return options;
}

}  // namespace skipstone::api
