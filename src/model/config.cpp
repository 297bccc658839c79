#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/elementary.h"
#include "base/log.h"
#include "base/status.h"
#include "gguf/gguf.h"
#include "model/config_parts.h"

namespace skipstone::model {

namespace {

const Architecture& family_of(const gguf::File& file) {
  const std::string name = file.string("general.architecture", "");
  if (name.empty()) fail(Code::bad_file, "The file has no 'general.architecture'; it is not a language model, or its metadata is damaged.");
  if (const Architecture* row = find_architecture(name)) return *row;
  fail(Code::unsupported, "The model's architecture '{}' is not one that this version runs; it runs: {}.", gguf::escaped(name),
       architecture_names());
}

/// Features that other programs compute under the same architecture name. Ignoring one would give wrong text, so each is refused.
void refuse_other_computations(const Keys& keys, const Config& config) {
  if (!config.family->experts && keys.count("expert_count", 0, most_heads, 0) > 0) {
    fail(Code::unsupported, "The model is a mixture of experts ('{}' is above 0), which this version cannot run as architecture '{}'.",
         keys.full("expert_count"), config.architecture);
  }
  if (!keys.file().boolean(keys.full("attention.causal"), true)) {
    fail(Code::unsupported, "The model's attention is not causal ('{}' is false), so it cannot generate text.",
         keys.full("attention.causal"));
  }
  struct Neutral {
    std::string_view name;
    double value;             // with it the feature does nothing
    std::uint8_t honoured{};  // by families with this bit
  };
  const std::array<Neutral, 9> features{
      {{"attention.clamp_kqv", 0.0},
       {"attention.max_alibi_bias", 0.0},
       {"attention.scale", 1.0 / std::sqrt(static_cast<double>(config.attention().head_dim)), honours_scales},
       {"attention.temperature_scale", 0.0, honours_temperature},
       {"attn_logit_softcapping", 0.0, honours_softcaps},
       {"final_logit_softcapping", 0.0, honours_softcaps},
       {"logit_scale", 1.0, honours_scales | scales_logits},
       {"residual_scale", 1.0, honours_scales},
       {"embedding_scale", 1.0, honours_scales}}};
  for (const Neutral& feature : features) {
    if ((config.family->honours & feature.honoured) != 0) continue;
    const double value = keys.file().number(keys.full(feature.name), feature.value);
    if (!(std::abs(value - feature.value) <= 1e-6)) {  // a NaN too is refused
      fail(Code::unsupported, "The key '{}' is {}, which changes the computation in a way that this version cannot run (it runs {}).",
           keys.full(feature.name), value, feature.value);
    }
  }
}

/// A head attends as the last layer with attention does.
void set_heads(const Keys& keys, Config& config) {
  if (config.prediction_layers.empty()) return;
  const auto attends = [](const LayerConfig& layer) { return std::holds_alternative<Attention>(layer.mixer); };
  const auto& last = std::get<Attention>(std::ranges::find_if(config.layers.rbegin(), config.layers.rend(), attends)->mixer);
  if (last.window != 0) {
    fail(Code::unsupported, "Heads for multi-token prediction ('{}' is {}) are not supported where the last layer has a sliding window.",
         keys.full(heads_key), config.prediction_layers.size());
  }
  for (LayerConfig& head : config.prediction_layers) head.mixer = last;
}

/// The factor and the softcap of scores, of all layers alike.
void set_scores(Config& config, float scale, float softcap) {
  for (LayerConfig& layer : config.layers) {
    if (auto* attention = std::get_if<Attention>(&layer.mixer)) attention->scale = scale, attention->softcap = softcap;
  }
}

/// Constants that numbers are multiplied with or kept below.
void read_scales(const Keys& keys, Config& config) {
  const Architecture& family = *config.family;
  const Attention& attention = config.attention();
  float score_scale = family.score_scale, score_softcap = 0.0f;
  if (family.scaled_embedding) config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  if (family.width_scaled_layers == config.layers.size()) {
    score_scale = 1.0f / std::sqrt(static_cast<float>(config.width) / static_cast<float>(attention.heads));
  }
  if ((family.honours & honours_scales) != 0) {
    config.embedding_scale = keys.positive("embedding_scale", 1.0f);
    config.residual_scale = keys.positive("residual_scale", 1.0f);
    score_scale = keys.has("attention.scale") ? keys.positive("attention.scale") : 0.0f;
    config.logit_scale = 1.0f / keys.positive("logit_scale", 1.0f);
  }
  if ((family.honours & scales_logits) != 0) config.logit_scale = keys.positive("logit_scale", 1.0f);
  if (attention.has_latents()) score_scale = latent_score_scale(keys, attention);
  if ((family.honours & honours_softcaps) != 0) {
    const bool needed = (family.honours & needs_softcaps) != 0;
    const auto softcap = [&](std::string_view name) { return needed ? keys.positive(name) : keys.not_negative(name); };
    score_softcap = softcap("attn_logit_softcapping");
    config.final_softcap = softcap("final_logit_softcapping");
  }
  set_scores(config, score_scale, score_softcap);
  if ((family.honours & honours_temperature) != 0) {
    config.temperature = keys.not_negative("attention.temperature_scale");
    if (config.temperature > 0.0f) {
      config.temperature_context = keys.count("rope.scaling.original_context_length", 1, most_context);
      if (config.rope_dim != attention.head_dim) {
        fail(Code::unsupported, "With '{}' all of a head's {} dimensions must rotate; '{}' is {}.",
             keys.full("attention.temperature_scale"), attention.head_dim, keys.full("rope.dimension_count"), config.rope_dim);
      }
    }
  }
}

/// Files may come without the heads that their keys count.
void drop_missing_heads(const gguf::File& file, Config& config) {
  const auto is_there = [&](std::size_t block) {
    const std::string prefix = fmt::format("blk.{}.", block);
    return std::ranges::any_of(file.tensors(), [&](const gguf::Tensor& tensor) { return tensor.name.starts_with(prefix); });
  };
  std::vector<LayerConfig>& heads = config.prediction_layers;
  while (!heads.empty() && !is_there(config.layers.size() + heads.size() - 1)) heads.pop_back();
}

/// Every row of the embedding must be a token that the tokenizer can spell, so all sources have to agree.
void read_vocabulary(const Keys& keys, Config& config) {
  const std::string name = tensor_name(Role::embedding, 0);
  const gguf::Tensor* embedding = keys.file().find_tensor(name);
  if (embedding == nullptr) {
    fail(Code::bad_file, "Tensor '{}' is missing; the file holds a vocabulary alone, or is one part of a split model.", name);
  }
  if (embedding->rows() == 0 || embedding->rows() > most_vocabulary) {
    fail(Code::bad_file, "Tensor '{}' has {} rows, expected 1 to {}.", name, embedding->rows(), most_vocabulary);
  }
  config.vocabulary = static_cast<std::uint32_t>(embedding->rows());
  const std::vector<std::string>* tokens = keys.file().strings("tokenizer.ggml.tokens");
  if (tokens != nullptr && tokens->size() != config.vocabulary) {
    fail(Code::bad_file, "The vocabulary 'tokenizer.ggml.tokens' has {} tokens, but '{}' has {} rows.", tokens->size(), name,
         config.vocabulary);
  }
  const std::uint32_t declared = keys.count("vocab_size", 1, most_vocabulary, config.vocabulary);
  if (declared != config.vocabulary) {
    fail(Code::bad_file, "The key '{}' is {}, but '{}' has {} rows.", keys.full("vocab_size"), declared, name, config.vocabulary);
  }
}

std::size_t count_distinct(const ModelTensors& tensors) {
  std::unordered_set<const gguf::Tensor*> distinct;
  const auto insert = [&](const Parameters& parameters) {
    for (const Parameter& parameter : parameters) distinct.insert({parameter.weight, parameter.bias, parameter.scale});
  };
  insert(tensors.model);
  for (const Parameters& layer : tensors.layers) insert(layer);
  for (const Parameters& head : tensors.prediction_layers) insert(head);
  distinct.erase(nullptr);
  return distinct.size();
}

/// Looks all tensors up, and says which are not used or not as a file should have them.
void report_tensors(const gguf::File& file, const Config& config) {
  const std::size_t used = count_distinct(find_tensors(file, config));
  const auto report = [&](const char* what, const auto& is_one) {
    const auto first = std::ranges::find_if(file.tensors(), is_one);
    const auto count = static_cast<std::size_t>(std::ranges::count_if(file.tensors(), is_one));
    if (count > 0) log::warning("{}: {} {} ('{}' is the first).", file.path(), count, what, shortened(first->name));
    return count;
  };
  const std::size_t others = report("tensors are of encoders of images or sound and are not used; the model reads and writes text alone",
                                    [](const gguf::Tensor& tensor) { return is_of_other_inputs(tensor.name); });
  report("norms, biases or factors are BF16, which costs them precision; they are computed with as F32", [](const gguf::Tensor& tensor) {
    return tensor.dimensions == 1 && tensor.type == gguf::Type::bf16 && !is_of_other_inputs(tensor.name);
  });
  if (used + others < file.tensors().size()) {
    log::info("{} of the file's {} tensors play no part in architecture '{}' and are not used.", file.tensors().size() - used - others,
              file.tensors().size(), config.architecture);
  }
}

}  // namespace

void read_windows(const Keys& keys, Config& config) {
  constexpr std::string_view pattern = "attention.sliding_window_pattern";
  const Architecture& family = *config.family;
  const std::uint32_t layers = config.layer_count();
  const bool needed = family.full_every != 0 || keys.has(pattern);
  const std::uint32_t window =
      keys.count("attention.sliding_window", needed ? 1 : 0, UINT32_MAX, needed ? std::nullopt : std::optional(0u));
  if (window == 0) return set_positions(config, 0, {});
  const gguf::Value* value = keys.file().find(keys.full(pattern));
  if (value == nullptr || !std::holds_alternative<std::shared_ptr<const gguf::Array>>(*value)) {  // a number n: every n-th layer is full
    return set_positions(config, window, windows_but_every(keys.count(pattern, 0, most_layers, family.full_every), layers));
  }
  const std::vector<std::int32_t> slides = keys.file().integers(keys.full(pattern));
  if (slides.size() != layers) {
    fail(Code::bad_file, "The array '{}' has {} items, but the model has {} layers; the file is damaged or was converted wrongly.",
         keys.full(pattern), slides.size(), layers);
  }
  std::vector<bool> sliding(layers);
  std::transform(slides.begin(), slides.end(), sliding.begin(), [](std::int32_t slide) { return slide != 0; });
  set_positions(config, window, sliding);
}

void set_positions(Config& config, std::uint32_t window, const std::vector<bool>& slides) {
  const Architecture& family = *config.family;
  for (std::uint32_t i = 0; i < config.layers.size(); ++i) {
    auto* attention = std::get_if<Attention>(&config.layers[i].mixer);
    if (attention == nullptr) continue;
    const bool sliding = !slides.empty() && slides[i];
    attention->window = sliding ? window : 0;
    attention->local_rope = sliding && config.local_rope_base > 0.0f;
    attention->rotates = attention->rotates && (family.unrotated_every == 0 || (i + 1) % family.unrotated_every != 0) &&
                         !(family.unrotated_full && window != 0 && !sliding);
  }
}

const Attention& Config::attention() const {
  const auto has_attention = [](const LayerConfig& layer) { return std::holds_alternative<Attention>(layer.mixer); };
  return std::get<Attention>(std::ranges::find_if(layers, has_attention)->mixer);
}

bool Config::windows_have_own_heads() const {
  const Attention *sliding = nullptr, *full = nullptr;
  for_each_attention([&](const Attention& attention) { (attention.window != 0 ? sliding : full) = &attention; });
  return sliding != nullptr && full != nullptr && !sliding->stores_like(*full);
}

std::uint32_t Config::q_width() const {
  std::uint32_t most = 0;
  for_each_attention([&](const Attention& attention) { most = std::max(most, attention.q_width()); });
  return most;
}

std::uint32_t Config::qkv_width() const {
  std::uint32_t most = 0;
  for_each_attention([&](const Attention& attention) { most = std::max(most, attention.qkv_width()); });
  return most;
}

bool Config::has_readers(std::uint32_t layer, std::uint32_t end) const {
  for (std::uint32_t reader = layer + 1; reader < std::min(end, layer_count()); ++reader) {
    const auto* attention = std::get_if<Attention>(&layers[reader].mixer);
    if (attention != nullptr && attention->kv_source == layer) return true;
  }
  return false;
}

std::uint32_t Config::ffn() const {
  std::uint32_t most = 0;
  for (std::uint32_t i = 0; i < block_count(); ++i) {
    if (const auto* mlp = std::get_if<Mlp>(&block(i).feedforward)) most = std::max(most, mlp->width);
    if (const auto* experts = std::get_if<Experts>(&block(i).feedforward)) most = std::max(most, experts->shared_width);
  }
  return most;
}

const Experts* Config::experts() const {
  for (const LayerConfig& layer : layers) {
    if (const auto* experts = std::get_if<Experts>(&layer.feedforward)) return experts;
  }
  return nullptr;
}

std::uint32_t Config::window(std::uint32_t layer) const {
  const auto* attention = std::get_if<Attention>(&block(layer).mixer);
  return attention == nullptr ? 0 : attention->window;
}

double Config::temperature_at(std::uint32_t position) const {
  if (temperature == 0.0f) return 1.0;
  const double lengths = std::floor(static_cast<double>(position) / temperature_context);
  return 1.0 + static_cast<double>(temperature) * log_of_positive(1.0 + lengths);
}

Config Config::from(const gguf::File& file) {
  const Architecture& row = family_of(file);
  const Keys keys(file, row.name);
  Config config;
  config.family = &row;
  config.architecture = row.name;
  config.name = file.string("general.name", "");
  config.rope_pairs = row.rope_pairs;
  if (has_heads_alone(file)) {
    fail(Code::unsupported, "The file has a head for multi-token prediction and no layers; load it beside its model (--mtp-file).");
  }
  read_shape(keys, config);
  drop_missing_heads(file, config);
  read_rope(keys, config);
  read_windows(keys, config);
  read_window_heads(keys, config);
  read_scales(keys, config);
  set_heads(keys, config);
  refuse_other_computations(keys, config);
  read_vocabulary(keys, config);
  config.tied_embeddings = file.find_tensor(tensor_name(Role::output, 0)) == nullptr;
  const std::uint64_t exit_layer = file.integer("skipstone.exit_layer", 0);
  if (exit_layer >= config.layers.size()) {
    fail(Code::bad_file, "The key 'skipstone.exit_layer' is {}, expected 0 (unknown) to {}, one less than the model's layers.", exit_layer,
         config.layers.size() - 1);
  }
  config.exit_layer = static_cast<std::uint32_t>(exit_layer);

  report_tensors(file, config);
  return config;
}

}  // namespace skipstone::model
