#include "model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "gguf/gguf.h"

namespace skipstone::model {

namespace {

// Bounds far above any model in the field and low enough that no product of two of them overflows 64 bits (or q_width 32).
constexpr std::uint32_t most_layers = 256;
constexpr std::uint32_t most_heads = 1u << 16;
constexpr std::uint32_t most_head_dim = 256;
constexpr std::uint32_t most_width = 1u << 20;
constexpr std::uint32_t most_ffn = 1u << 22;
constexpr std::uint32_t most_vocabulary = 1u << 24;
constexpr std::uint32_t most_context = 1u << 30;

/// The metadata keys under an architecture's prefix, with their ranges checked.
class Keys {
 public:
  Keys(const gguf::File& file, std::string_view prefix) : file_(file), prefix_(prefix) {}

  std::string full(std::string_view name) const { return fmt::format("{}.{}", prefix_, name); }
  bool has(std::string_view name) const { return file_.find(full(name)) != nullptr; }

  /// An integer in [low, high]; without a fallback the key must be there.
  std::uint32_t count(std::string_view name, std::uint32_t low, std::uint32_t high, std::optional<std::uint32_t> fallback = {}) const {
    if (!has(name) && fallback) return *fallback;
    return in_range(full(name), file_.required_integer(full(name)), low, high);
  }

  /// A count that newer converters may store as an array with an item per layer. Layers that differ need kernels per layer, which we do not
  /// have.
  std::uint32_t per_layer(std::string_view name, std::uint32_t layers, std::uint32_t high,
                          std::optional<std::uint32_t> fallback = {}) const {
    const std::string key = full(name);
    const gguf::Value* value = file_.find(key);
    if (value == nullptr || !std::holds_alternative<std::shared_ptr<const gguf::Array>>(*value)) return count(name, 1, high, fallback);
    const std::vector<std::int32_t> items = file_.integers(key);
    if (items.size() != layers) {
      fail(Code::bad_file, "The array '{}' has {} items, but the model has {} layers; the file is damaged or was converted wrongly.", key,
           items.size(), layers);
    }
    if (std::adjacent_find(items.begin(), items.end(), std::not_equal_to<>()) != items.end()) {
      fail(Code::unsupported, "The layers differ in '{}', which this version cannot run; it needs one value for all layers.", key);
    }
    if (items[0] < 1) fail(Code::bad_file, "The key '{}' is {}, expected 1 to {}.", key, items[0], high);
    return in_range(key, static_cast<std::uint64_t>(items[0]), 1, high);
  }

  /// A finite number above 0; without a fallback the key must be there.
  float positive(std::string_view name, std::optional<float> fallback = {}) const {
    const std::string key = full(name);
    if (!has(name)) {
      if (fallback) return *fallback;
      fail(Code::bad_file, "The key '{}' is missing; a model of this architecture needs it.", key);
    }
    const double value = file_.number(key, 0.0);
    constexpr double least = std::numeric_limits<float>::min(), most = std::numeric_limits<float>::max();
    if (!(value >= least && value <= most)) fail(Code::bad_file, "The key '{}' is {}, expected a finite number above 0.", key, value);
    return static_cast<float>(value);
  }

  const gguf::File& file() const { return file_; }

 private:
  static std::uint32_t in_range(const std::string& key, std::uint64_t value, std::uint32_t low, std::uint32_t high) {
    if (value < low || value > high) fail(Code::bad_file, "The key '{}' is {}, expected {} to {}.", key, value, low, high);
    return static_cast<std::uint32_t>(value);
  }

  const gguf::File& file_;
  std::string prefix_;
};

const Architecture& find_architecture(const gguf::File& file) {
  const std::string name = file.string("general.architecture", "");
  if (name.empty()) fail(Code::bad_file, "The file has no 'general.architecture'; it is not a language model, or its metadata is damaged.");
  std::string known;
  for (const Architecture& row : architectures()) {
    if (row.name == name) return row;
    if (!known.empty()) known += ", ";
    known += row.name;
  }
  fail(Code::unsupported, "The model's architecture '{}' is not one that this version runs; it runs: {}.", gguf::escaped(name), known);
}

/// Features that other programs compute under the same architecture name. Ignoring one would give wrong text, so each is refused.
void refuse_other_computations(const Keys& keys, const Config& config) {
  if (keys.count("expert_count", 0, most_heads, 0) > 0) {
    fail(Code::unsupported, "The model is a mixture of experts ('{}' is above 0), which this version cannot run; use a dense model.",
         keys.full("expert_count"));
  }
  if (!keys.file().boolean(keys.full("attention.causal"), true)) {
    fail(Code::unsupported, "The model's attention is not causal ('{}' is false), so it cannot generate text.",
         keys.full("attention.causal"));
  }
  struct Neutral {
    std::string_view name;
    double value;  // with it the feature does nothing
  };
  const std::array<Neutral, 9> features{{{"attention.clamp_kqv", 0.0},
                                         {"attention.max_alibi_bias", 0.0},
                                         {"attention.scale", 1.0 / std::sqrt(static_cast<double>(config.head_dim))},
                                         {"attention.temperature_scale", 0.0},
                                         {"attn_logit_softcapping", 0.0},
                                         {"final_logit_softcapping", 0.0},
                                         {"logit_scale", 1.0},
                                         {"residual_scale", 1.0},
                                         {"embedding_scale", 1.0}}};
  for (const Neutral& feature : features) {
    const double value = keys.file().number(keys.full(feature.name), feature.value);
    if (!(std::abs(value - feature.value) <= 1e-6)) {  // a NaN too is refused
      fail(Code::unsupported, "The key '{}' is {}, which changes the computation in a way that this version cannot run (it runs {}).",
           keys.full(feature.name), value, feature.value);
    }
  }
}

void read_shape(const Keys& keys, Config& config) {
  config.layers = keys.count("block_count", 1, most_layers);
  config.context_trained = keys.count("context_length", 1, most_context);
  config.width = keys.count("embedding_length", 1, most_width);
  config.ffn = keys.per_layer("feed_forward_length", config.layers, most_ffn);
  config.heads = keys.per_layer("attention.head_count", config.layers, most_heads);
  config.kv_heads = keys.per_layer("attention.head_count_kv", config.layers, most_heads, config.heads);
  if (config.heads % config.kv_heads != 0) {
    fail(Code::bad_file, "The {} attention heads ('{}') do not divide among {} KV heads ('{}').", config.heads,
         keys.full("attention.head_count"), config.kv_heads, keys.full("attention.head_count_kv"));
  }
  if (!keys.has("attention.key_length") && config.width % config.heads != 0) {
    fail(Code::bad_file, "The embedding length {} does not divide among {} heads, and '{}' is missing.", config.width, config.heads,
         keys.full("attention.key_length"));
  }
  config.head_dim = keys.count("attention.key_length", 1, most_head_dim, config.width / config.heads);
  const std::uint32_t value_dim = keys.count("attention.value_length", 1, most_head_dim, config.head_dim);
  if (value_dim != config.head_dim) {
    fail(Code::unsupported,
         "Heads whose keys have {} and whose values have {} dimensions ('{}', '{}') are not supported; they must be equal.",
         config.head_dim, value_dim, keys.full("attention.key_length"), keys.full("attention.value_length"));
  }
  if (config.head_dim == 0 || config.head_dim > most_head_dim) {
    fail(Code::unsupported, "A head has {} dimensions; this version runs 4 to {}.", config.head_dim, most_head_dim);
  }
  // The kernels read activations four floats at a time.
  const std::array<std::pair<std::string_view, std::uint32_t>, 3> lengths{
      {{"embedding length", config.width}, {"feed-forward length", config.ffn}, {"head dimension", config.head_dim}}};
  for (const auto& [what, length] : lengths) {
    if (length % 4 != 0) fail(Code::unsupported, "The model's {} is {}; this version needs a multiple of 4.", what, length);
  }
  config.norm_epsilon = keys.positive("attention.layer_norm_rms_epsilon");
}

/// The factors of a tensor of half the rotary dimensions; empty where it is not there.
std::vector<float> rope_factors(const Keys& keys, const char* name, std::uint32_t rope_dim) {
  const gguf::Tensor* tensor = keys.file().find_tensor(name);
  if (tensor == nullptr) return {};
  if (tensor->type != gguf::Type::f32 && tensor->type != gguf::Type::f16) {
    fail(Code::unsupported, "Tensor '{}' has type {}; this version reads F32 and F16 there.", name, gguf::traits(tensor->type).name);
  }
  if (tensor->elements() != rope_dim / 2 || tensor->row_length() != rope_dim / 2) {
    fail(Code::bad_file, "Tensor '{}' has {} factors, expected {} (half of the {} rotary dimensions).", name, tensor->elements(),
         rope_dim / 2, rope_dim);
  }
  std::vector<float> factors(rope_dim / 2);
  gguf::dequantize(*tensor, factors);
  for (const float f : factors) {
    if (!std::isfinite(f) || f <= 0.0f) fail(Code::bad_file, "Tensor '{}' holds {}, expected finite factors above 0.", name, f);
  }
  return factors;
}

/// Two sets of factors, one for texts of the original length, one for longer ones; and what both multiply cosines and sines with.
void read_long_rope(const Keys& keys, bool long_rope, Config& config) {
  constexpr const char *shorter = "rope_factors_short.weight", *longer = "rope_factors_long.weight";
  std::vector<float> short_factors;
  if (long_rope) {
    short_factors = rope_factors(keys, shorter, config.rope_dim);
    config.rope_factors_long = rope_factors(keys, longer, config.rope_dim);
  }
  if (short_factors.empty() != config.rope_factors_long.empty()) {
    fail(Code::bad_file, "Tensor '{}' is there and '{}' is not; a model has both or none.", short_factors.empty() ? longer : shorter,
         short_factors.empty() ? shorter : longer);
  }
  constexpr std::string_view attention_factor = "rope.scaling.attn_factor";
  if (short_factors.empty()) {
    const double factor = keys.file().number(keys.full(attention_factor), 1.0);
    if (!(std::abs(factor - 1.0) <= 1e-6)) {
      fail(Code::unsupported, "The key '{}' is {}, which this version runs with '{}' alone.", keys.full(attention_factor), factor, longer);
    }
    return;
  }
  if (!config.rope_factors.empty())
    fail(Code::bad_file, "Tensors 'rope_freqs.weight' and '{}' are both there; a model has one of them.", shorter);
  config.rope_factors = std::move(short_factors);
  config.rope_original_context = keys.count("rope.scaling.original_context_length", 1, most_context);
  config.rope_magnitude = keys.positive(attention_factor, 1.0f);
}

void read_rope(const Keys& keys, bool long_rope, Config& config) {
  config.rope_dim = keys.count("rope.dimension_count", 2, config.head_dim, config.head_dim);
  if (config.rope_dim % 2 != 0) {
    fail(Code::bad_file, "The key '{}' is {}, but rotary dimensions come in pairs.", keys.full("rope.dimension_count"), config.rope_dim);
  }
  const std::uint32_t whole = config.rope_pairs == RopePairs::halves ? 8 : 4;  // of what rope_store.comp rotates at a time
  if (config.rope_dim % whole != 0) {
    fail(Code::unsupported, "The key '{}' is {}; this version rotates multiples of {} dimensions.", keys.full("rope.dimension_count"),
         config.rope_dim, whole);
  }
  config.rope_base = keys.positive("rope.freq_base", 10000.0f);
  const std::string kind = keys.file().string(keys.full("rope.scaling.type"), "linear");
  if (kind != "none" && kind != "linear") {
    fail(Code::unsupported, "The model scales its positions by '{}' ('{}'), which this version cannot run; it runs none and linear.",
         gguf::escaped(kind), keys.full("rope.scaling.type"));
  }
  // A factor counts for the kinds that use it only. scale_linear is the key's name before there were kinds.
  const float factor = keys.positive("rope.scaling.factor", keys.positive("rope.scale_linear", 1.0f));
  if (kind == "linear") config.rope_scale = factor;

  config.rope_factors = rope_factors(keys, "rope_freqs.weight", config.rope_dim);
  read_long_rope(keys, long_rope, config);
}

/// A window that the context does not reach past is none. Those of single layers need kernels of their own, which we do not have.
void read_window(const Keys& keys, Config& config) {
  const std::uint64_t window = keys.file().integer(keys.full("attention.sliding_window"), 0);
  if (window == 0 || window >= config.context_trained) return;
  config.context_limit = static_cast<std::uint32_t>(window);
}

/// Every row of the embedding must be a token that the tokenizer can spell, so all sources have to agree.
void read_vocabulary(const Keys& keys, Config& config) {
  const gguf::Tensor* embedding = keys.file().find_tensor("token_embd.weight");
  if (embedding == nullptr) {
    fail(Code::bad_file, "Tensor 'token_embd.weight' is missing; the file holds a vocabulary alone, or is one part of a split model.");
  }
  if (embedding->rows() == 0 || embedding->rows() > most_vocabulary) {
    fail(Code::bad_file, "Tensor 'token_embd.weight' has {} rows, expected 1 to {}.", embedding->rows(), most_vocabulary);
  }
  config.vocabulary = static_cast<std::uint32_t>(embedding->rows());
  const std::vector<std::string>* tokens = keys.file().strings("tokenizer.ggml.tokens");
  if (tokens != nullptr && tokens->size() != config.vocabulary) {
    fail(Code::bad_file, "The vocabulary 'tokenizer.ggml.tokens' has {} tokens, but 'token_embd.weight' has {} rows.", tokens->size(),
         config.vocabulary);
  }
  const std::uint32_t declared = keys.count("vocab_size", 1, most_vocabulary, config.vocabulary);
  if (declared != config.vocabulary) {
    fail(Code::bad_file, "The key '{}' is {}, but 'token_embd.weight' has {} rows.", keys.full("vocab_size"), declared, config.vocabulary);
  }
}

std::size_t count_distinct(const ModelTensors& tensors) {
  std::unordered_set<const gguf::Tensor*> distinct{tensors.embedding, tensors.output_norm, tensors.output, tensors.output_bias};
  for (const LayerTensors& l : tensors.layers) {
    distinct.insert({l.attention_norm, l.q,  l.k,    l.v,         l.o,       l.q_bias,    l.k_bias, l.v_bias,  l.o_bias, l.ffn_norm,
                     l.gate,           l.up, l.down, l.gate_bias, l.up_bias, l.down_bias, l.qkv,    l.gate_up, l.q_norm, l.k_norm});
  }
  distinct.erase(nullptr);
  return distinct.size();
}

}  // namespace

Config Config::from(const gguf::File& file) {
  const Architecture& row = find_architecture(file);
  const Keys keys(file, row.name);
  Config config;
  config.architecture = row.name;
  config.name = file.string("general.name", "");
  config.rope_pairs = row.rope_pairs;
  config.qk_norm = row.qk_norm;
  config.unrotated_every = row.unrotated_every;
  read_shape(keys, config);
  read_rope(keys, row.long_rope, config);
  read_window(keys, config);
  refuse_other_computations(keys, config);
  read_vocabulary(keys, config);
  config.tied_embeddings = file.find_tensor("output.weight") == nullptr;
  const std::uint64_t exit_layer = file.integer("skipstone.exit_layer", 0);
  if (exit_layer >= config.layers) {
    fail(Code::bad_file, "The key 'skipstone.exit_layer' is {}, expected 0 (unknown) to {}, one less than the model's layers.", exit_layer,
         config.layers - 1);
  }
  config.exit_layer = static_cast<std::uint32_t>(exit_layer);

  const std::size_t used =
      count_distinct(find_tensors(file, config)) + (config.rope_factors.empty() ? 0 : 1) + (config.rope_factors_long.empty() ? 0 : 1);
  if (used < file.tensors().size()) {
    log::info("{} of the file's {} tensors play no part in architecture '{}' and are not used.", file.tensors().size() - used,
              file.tensors().size(), config.architecture);
  }
  return config;
}

}  // namespace skipstone::model
