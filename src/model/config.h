// A model's shape, read from GGUF metadata and checked against the tensors. An architecture is a row of data, not a class.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/architecture.h"
#include "model/layer_config.h"
#include "model/tensor_roles.h"

namespace skipstone::gguf {
class File;
struct Tensor;
}  // namespace skipstone::gguf

namespace skipstone::model {

// Limits of a shape: far above any model in the field and low enough that no product of two of them overflows 64 bits (or q_width 32).
inline constexpr std::uint32_t most_layers = 256;
inline constexpr std::uint32_t most_heads = 1u << 16;
inline constexpr std::uint32_t most_head_dim = 512;
inline constexpr std::uint32_t most_state_dim = 256;   // of a head of a recurrent layer
inline constexpr std::uint32_t most_latent_dim = 640;  // of a key in the cache, whose value is a part of it; published models have 576
inline constexpr std::uint32_t most_width = 1u << 20;
inline constexpr std::uint32_t most_ffn = 1u << 22;
inline constexpr std::uint32_t most_vocabulary = 1u << 24;
inline constexpr std::uint32_t most_kernel = 16;  // taps of a convolution
inline constexpr std::uint32_t most_experts = 1024;
inline constexpr std::uint32_t most_experts_used = 32;
inline constexpr std::uint32_t most_context = 1u << 30;

struct Config {
  const Architecture* family = &architectures().front();
  std::string architecture, name;
  std::vector<LayerConfig> layers;
  std::vector<LayerConfig> prediction_layers;  ///< heads for multi-token prediction; in the file the blocks after the layers
  std::uint32_t width = 0, vocabulary = 0;
  std::uint32_t context_trained = 0;
  std::uint32_t rope_dim = 0;  ///< dimensions of a head that rotate
  float rope_base = 10000.0f;
  float rope_scale = 1.0f;  ///< positions are divided by it (linear scaling)
  RopePairs rope_pairs = RopePairs::neighbours;
  /// Each pair's frequency is divided by its factor; empty for none. rope_freqs.weight, YaRN (arXiv 2309.00071), or
  /// rope_factors_short.weight of models that have two sets (LongRoPE, arXiv 2402.13753): these take `rope_factors_long` in contexts of
  /// more than `rope_original_context` tokens.
  std::vector<float> rope_factors, rope_factors_long;
  std::uint32_t rope_original_context = 0;
  float rope_magnitude = 1.0f;       ///< of the rotated dimensions of Q and K: LongRoPE's and YaRN's attention factor
  float local_rope_base = 0.0f;      ///< of layers with Attention::local_rope, neither scaled nor divided; 0: there are none
  std::uint32_t local_rope_dim = 0;  ///< rotating dimensions of their heads; 0: rope_dim
  float temperature = 0.0f;  ///< Q grows with its position p by 1 + temperature * ln(1 + floor(p / temperature_context)); 0: it does not
  std::uint32_t temperature_context = 0;
  float final_softcap = 0.0f;  ///< c * tanh(x / c) of logits; 0: none
  /// Factors of: embeddings, what mixers and feed-forward networks add to the residual stream, logits before their softcap.
  float embedding_scale = 1.0f, residual_scale = 1.0f, logit_scale = 1.0f;
  float norm_epsilon = 1e-5f;
  bool tied_embeddings = false;  ///< no output.weight: the embedding is the LM head
  std::uint32_t exit_layer = 0;  ///< the exit a LayerSkip checkpoint was trained for; 0: unknown

  std::uint32_t layer_count() const { return static_cast<std::uint32_t>(layers.size()); }
  /// Layers, and heads for multi-token prediction.
  std::uint32_t block_count() const { return layer_count() + static_cast<std::uint32_t>(prediction_layers.size()); }
  /// A layer, or after all layers a head for multi-token prediction.
  const LayerConfig& block(std::uint32_t index) const {
    return index < layers.size() ? layers[index] : prediction_layers.at(index - layers.size());
  }
  const Attention& attention(std::uint32_t layer) const { return std::get<Attention>(layers.at(layer).mixer); }
  /// That of the first layer which has one: the number of heads and the scales are those of all layers, and so are KV heads and head size
  /// unless windows_have_own_heads().
  const Attention& attention() const;
  /// Calls `visit(attention)` for each layer, and head for multi-token prediction, that has one.
  template <typename Visit>
  void for_each_attention(const Visit& visit) const {
    for (std::uint32_t i = 0; i < block_count(); ++i) {
      if (const auto* attention = std::get_if<Attention>(&block(i).mixer)) visit(*attention);
    }
  }
  /// Whether layers with a sliding window have other KV heads, or heads of another size, than those without.
  bool windows_have_own_heads() const;
  /// The widest rows of Q, and of Q, K and V, of all layers.
  std::uint32_t q_width() const;
  std::uint32_t qkv_width() const;
  /// Dimensions of a head that rotate.
  std::uint32_t rope_dim_of(const Attention& attention) const {
    return attention.local_rope && local_rope_dim != 0 ? local_rope_dim : rope_dim;
  }
  /// LayerConfig::token_input of all layers.
  std::uint32_t token_input() const { return layers.empty() ? 0 : layers.front().token_input; }
  /// Whether a layer before `end` reads the keys and values of `layer`, which is another one.
  bool has_readers(std::uint32_t layer, std::uint32_t end) const;
  /// The widest activations of MLPs and shared experts of all layers.
  std::uint32_t ffn() const;
  /// That of the first layer which has them; nullptr if none has.
  const Experts* experts() const;
  /// Keys that a row of the layer sees; 0: all of the text.
  std::uint32_t window(std::uint32_t layer) const;
  /// Whether the layer sees less than a full context of `context` tokens, or could and has heads of its own.
  bool has_window(std::uint32_t layer, std::uint32_t context) const {
    const std::uint32_t seen = window(layer);
    return seen > 0 && (seen < context || windows_have_own_heads());
  }
  /// The factor of Q at `position` besides Attention::scale.
  double temperature_at(std::uint32_t position) const;
  /// Chosen by the context, never by a position: a token's bits may not depend on how long its text has become.
  const std::vector<float>& factors_for(std::uint32_t context) const {
    return !rope_factors_long.empty() && context > rope_original_context ? rope_factors_long : rope_factors;
  }

  /// Throws unsupported (architecture, with those there are; a scaling kind or tensor that we do not run), bad_file (a key or tensor
  /// that is missing, of the wrong shape or out of range; each with its name and what was expected).
  static Config from(const gguf::File& file);
};

/// Sets the window of the layers where `slides` is true (empty: of none), and the rotation that the family has with and without a window;
/// after `family`, `layers` and `local_rope_base`.
void set_positions(Config& config, std::uint32_t window, const std::vector<bool>& slides);

struct ModelTensors {
  Parameters model;  ///< the roles of no layer; output is the embedding where they are tied
  std::vector<Parameters> layers;
  std::vector<Parameters> prediction_layers;
};

/// Looks every tensor up by the architecture's names and checks type (runnable), shape, and the places of sparse ones. Errors as in
/// Config::from.
ModelTensors find_tensors(const gguf::File& file, const Config& config);
/// Leaves heads for multi-token prediction out of both, past the first `most`.
void keep_heads(Config& config, ModelTensors& tensors, std::size_t most);

// Heads for multi-token prediction in a file of their own, as people publish them beside a model: mtp-NAME.gguf (prediction_heads.cpp).

/// The model with the heads of the file `path`, as if they were in its own. Such a file has the model's architecture, and its last blocks,
/// of which `nextn_predict_layers` are heads, follow those of the model, or are all that it has. What else it holds (its own copies of
/// embedding and output matrix, a tokenizer) is not used.
/// Throws invalid_argument for a file without a head, with the head of another model, or beside a model that has one; the errors of
/// File::open, but bad_file for a file that is missing or unsupported.
gguf::File with_prediction_heads(gguf::File model, const std::string& path);

/// Whether the file is such a one.
bool has_heads_alone(const gguf::File& file);

/// Neighbouring layers that compute alike.
struct LayerGroup {
  std::uint32_t first = 0, last = 0;
  LayerConfig layer;
};
/// All layers, in order.
std::vector<LayerGroup> layer_groups(const Config& config);

/// A layer's properties by the names and values of inspect's JSON ("window": 512, "rotates": true, "mlp": "gated_silu"), those of all kinds
/// of mixers and feed-forward networks in one list.
using LayerFact = std::pair<const char*, std::variant<std::uint32_t, bool, const char*>>;
std::vector<LayerFact> facts_of(const LayerConfig& layer);

/// The computation in words, a line each: of the layers ("layers 0-4 window 512, layer 5 global, and so on every 6 layers up to 25,
/// QK-norm, post-norms, MLP gated by GELU"), of RoPE, and of scales and softcaps if any. RMS norms before mixer and MLP are not mentioned.
std::vector<std::string> describe(const Config& config);

}  // namespace skipstone::model
