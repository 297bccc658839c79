#include "engine/model_file.h"

#include <limits>

#include "base/log.h"
#include "base/status.h"
#include "gguf/gguf.h"

namespace skipstone::engine {

ModelFile load_model_file(const gguf::File& file, const model::Config& config, const std::string& pre_tokenizer) {
  ModelFile model{model::find_tensors(file, config), nullptr};
  if (!file.has_data()) return model;
  model.tokenizer = std::make_unique<text::Tokenizer>(text::Vocabulary::from(file, pre_tokenizer));
  if (model.tokenizer->size() > config.vocabulary) {
    fail(Code::bad_file, "{}: the tokenizer has {} tokens, but the model only {}", file.path(), model.tokenizer->size(), config.vocabulary);
  }
  return model;
}

namespace {

/// A number in [low, high] under `key`.
std::optional<double> number(const gguf::File& file, const char* key, double low, double high) {
  if (file.find(key) == nullptr) return std::nullopt;
  const double value = file.number(key, std::numeric_limits<double>::quiet_NaN());
  if (value >= low && value <= high) return value;
  log::warning("the model file recommends {} for '{}', which is not {} to {}; it is not used", value, key, low, high);
  return std::nullopt;
}

template <typename T>
std::optional<T> to(const std::optional<double>& value) {
  return value ? std::optional(static_cast<T>(*value)) : std::nullopt;
}

}  // namespace

RecommendedSampling RecommendedSampling::from(const gguf::File& file) {
  RecommendedSampling sampling;
  sampling.temperature = to<float>(number(file, "general.sampling.temp", 0, 100));
  sampling.top_k = to<std::uint32_t>(number(file, "general.sampling.top_k", 0, 1e9));
  sampling.top_p = to<float>(number(file, "general.sampling.top_p", 0, 1));
  sampling.min_p = to<float>(number(file, "general.sampling.min_p", 0, 1));
  sampling.repeat_penalty = to<float>(number(file, "general.sampling.penalty_repeat", 0.01, 100));
  sampling.repeat_last = to<std::uint32_t>(number(file, "general.sampling.penalty_last_n", 0, 1e9));
  return sampling;
}

}  // namespace skipstone::engine
