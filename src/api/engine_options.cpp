#include "api/engine_options.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "api/guard.h"
#include "api/handles.h"
#include "api/in_use.h"
#include "base/input_file.h"
#include "engine/stage_plan.h"
#include "text/pretokenizer.h"

namespace skipstone::api {

engine::Progress progress_from(skipstone_progress_fn progress, void* user_data, const char* what) {
  if (progress == nullptr) return {};
  return [=](const std::string& stage, double done) {
    if (progress(stage.c_str(), done, user_data) != 0) fail(Code::cancelled, "{} was stopped while {}", what, stage);
  };
}

PolledProgress polled_progress_from(skipstone_progress_fn progress, void* user_data, const char* what, const engine::Engine* engine) {
  if (progress == nullptr) return {};
  const auto last = std::make_shared<std::pair<std::string, double>>("beginning", 0.0);
  const engine::Progress once = within(engine, progress_from(progress, user_data, what));
  const auto report = [=](const std::string& stage, double done) {
    *last = {stage, done};
    once(stage, done);
  };
  return {report, [=] { once(last->first, last->second); }};
}

std::function<void()> poll_from(skipstone_progress_fn progress, void* user_data, const char* stage) {
  if (progress == nullptr) return {};
  return [=] {
    if (progress(stage, 0, user_data) != 0) fail(Code::cancelled, "{} was stopped by its caller", stage);
  };
}

namespace {

/// Throws invalid_argument unless the model is named in exactly one way.
void check_source(const skipstone_engine_params& params) {
  std::string named;
  const auto name = [&](bool set, const char* field) {
    if (set) named += (named.empty() ? "" : " and ") + std::string(field);
  };
  name(params.model_path != nullptr, "model_path");
  name(params.synthetic != nullptr, "synthetic");
  name(params.model_data != nullptr, "model_data");
  name(params.model_fd >= 0, "model_fd");
  if (named.empty()) fail(Code::invalid_argument, "no model is named; set model_path, model_data, model_fd or synthetic");
  if (named.find(' ') != std::string::npos) fail(Code::invalid_argument, "{} are set, but an engine has one model; set one of them", named);
  if (params.model_data != nullptr && params.model_bytes == 0) {
    fail(Code::invalid_argument, "model_data is set, but model_bytes is 0; set it to the number of bytes");
  }
  if (params.model_bytes != 0 && params.model_data == nullptr && params.model_fd < 0) {
    fail(Code::invalid_argument, "model_bytes is set, but neither model_data nor model_fd is");
  }
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 47;  // a process has no more addresses
  if (params.model_bytes > most_bytes) fail(Code::invalid_argument, "model_bytes is {}, more than any memory or file", params.model_bytes);
  if (params.model_offset != 0 && params.model_fd < 0) fail(Code::invalid_argument, "model_offset is set, but model_fd is not");
}

void check_pre_tokenizer(const skipstone_engine_params& params) {
  if (text_or_empty(params.pre_tokenizer).empty()) return;
  if (params.synthetic != nullptr) fail(Code::invalid_argument, "pre_tokenizer is set, but a synthetic model has no tokenizer");
  text::PreTokenizer::require(params.pre_tokenizer);
}

/// The open file or memory that the model is read from; none where it has a path or is synthetic.
std::shared_ptr<const InputFile> model_file(const skipstone_engine_params& params) {
  if (params.model_data != nullptr) {
    const std::span bytes(static_cast<const std::byte*>(params.model_data), static_cast<std::size_t>(params.model_bytes));
    return std::make_shared<const InputFile>(InputFile::in_memory(bytes, "the model in memory"));
  }
  if (params.model_fd < 0) return nullptr;
  const auto bytes = params.model_bytes == 0 ? std::nullopt : std::optional(params.model_bytes);
  return std::make_shared<const InputFile>(InputFile::borrow(params.model_fd, params.model_offset, bytes));
}

engine::KvType kv_type(const char* field, std::int32_t value) {
  if (value < SKIPSTONE_KV_AUTOMATIC || value > static_cast<std::int32_t>(engine::kv_type_formats.size()))
    fail(Code::invalid_argument, "{} {} is none of skipstone_kv_type", field, value);
  return static_cast<engine::KvType>(value);
}

}  // namespace

engine::KvTypes kv_types(std::int32_t both, std::int32_t k, std::int32_t v) {
  const engine::KvType type = kv_type("kv_type", both), of_k = kv_type("kv_type_k", k), of_v = kv_type("kv_type_v", v);
  return {of_k == engine::KvType::automatic ? type : of_k, of_v == engine::KvType::automatic ? type : of_v};
}

engine::EngineOptions engine_options(const skipstone_engine_params& params) {
  check_source(params);
  if (params.tuning < SKIPSTONE_TUNING_AUTOMATIC || params.tuning > SKIPSTONE_TUNING_FIRST_USE) {
    fail(Code::invalid_argument, "tuning {} is none of skipstone_tuning", params.tuning);
  }
  if (params.math < SKIPSTONE_MATH_F32 || params.math > SKIPSTONE_MATH_AUTOMATIC) {
    fail(Code::invalid_argument, "math {} is none of skipstone_math", params.math);
  }
  engine::EngineOptions options;
  options.kv = kv_types(params.kv_type, params.kv_type_k, params.kv_type_v);
  options.model_path = text_or_empty(params.model_path);
  options.model_file = model_file(params);
  options.synthetic = text_or_empty(params.synthetic);
  if (params.prefixes < SKIPSTONE_PREFIXES_OFF || params.prefixes > SKIPSTONE_PREFIXES_FAST) {
    fail(Code::invalid_argument, "prefixes {} is none of skipstone_prefixes", params.prefixes);
  }
  options.prefixes = static_cast<engine::PrefixMode>(params.prefixes);
  options.pool_tokens = params.pool_tokens;
  options.mtp_path = text_or_empty(params.mtp_path);
  options.pre_tokenizer = text_or_empty(params.pre_tokenizer);
  check_pre_tokenizer(params);
  options.device = wanted_device(params.device);
  options.devices = text_or_empty(params.devices);
  if (!options.devices.empty() && params.device != nullptr && *params.device != '\0') {
    fail(Code::invalid_argument, "device and devices are set, but they are two ways to say where a model lies; set one of them");
  }
  options.transfer_microseconds = params.transfer_microseconds;
  if (engine::names_ranks(options.devices)) options.job = stage_job();
  options.context = params.context;
  options.math = static_cast<engine::MathMode>(params.math);
  options.tuning = static_cast<engine::Tuning>(params.tuning);
  options.validation = params.validation != 0;
  if (params.vulkan != nullptr) options.host = host_device(params.vulkan);
  options.low_priority = params.low_priority != 0;
  if (params.experts_on_host < -1) fail(Code::invalid_argument, "experts_on_host {} is no number of layers", params.experts_on_host);
  if (params.experts_on_host >= 0) options.experts_on_host = static_cast<std::uint32_t>(params.experts_on_host);
  options.memory_limit = params.memory_limit;
  if (params.memory_account != nullptr) {
    if (params.memory_limit != 0) {
      fail(Code::invalid_argument, "memory_limit and memory_account are set, but they are two ways to limit memory; set one of them");
    }
    options.memory_account = params.memory_account->account;
    options.memory_limit = options.memory_account->limit();
  }
  options.progress = progress_from(params.progress, params.user_data, "loading");
  return options;
}

}  // namespace skipstone::api
