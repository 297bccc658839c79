// A model's shape, read from GGUF metadata and checked against the tensors. An architecture is a row of data, not a class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/architecture.h"
#include "model/tensor_roles.h"

namespace skipstone::gguf {
class File;
struct Tensor;
}  // namespace skipstone::gguf

namespace skipstone::model {

struct Config {
  const Architecture* family = &architectures().front();
  std::string architecture, name;
  std::uint32_t layers = 0, width = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocabulary = 0;
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
  float rope_magnitude = 1.0f;   ///< of the rotated dimensions of Q and K: LongRoPE's and YaRN's attention factor
  float local_rope_base = 0.0f;  ///< of layers with LayerSpec::local_rope, neither scaled nor divided; 0: there are none
  float temperature = 0.0f;  ///< Q grows with its position p by 1 + temperature * ln(1 + floor(p / temperature_context)); 0: it does not
  std::uint32_t temperature_context = 0;
  float attention_scale = 0.0f;                          ///< of the products of Q and K; 0: 1 / sqrt(head_dim)
  float attention_softcap = 0.0f, final_softcap = 0.0f;  ///< c * tanh(x / c) of scores, of logits (Gemma 2, arXiv 2408.00118); 0: none
  /// Factors of: embeddings, a sublayer's addition to the residual stream, logits before their softcap.
  float embedding_scale = 1.0f, residual_scale = 1.0f, logit_scale = 1.0f;
  std::uint32_t window = 0;         ///< LayerSpec::window of the layers that have one
  std::vector<bool> window_layers;  ///< which these are; empty: none
  float norm_epsilon = 1e-5f;
  bool tied_embeddings = false;  ///< no output.weight: the embedding is the LM head
  std::uint32_t exit_layer = 0;  ///< the exit a LayerSkip checkpoint was trained for; 0: unknown

  std::uint32_t layer_count() const { return layers; }
  std::uint32_t q_width() const { return heads * head_dim; }
  std::uint32_t kv_width() const { return kv_heads * head_dim; }
  std::uint32_t group() const { return heads / kv_heads; }
  LayerSpec layer(std::uint32_t index) const;
  /// Whether the layer sees less than a full context of `context` tokens.
  bool has_window(std::uint32_t index, std::uint32_t context) const {
    const std::uint32_t seen = layer(index).window;
    return seen > 0 && seen < context;
  }
  /// The factor of Q at `position` besides attention_scale.
  double temperature_at(std::uint32_t position) const;
  /// Chosen by the context, never by a position: a token's bits may not depend on how long its text has become.
  const std::vector<float>& factors_for(std::uint32_t context) const {
    return !rope_factors_long.empty() && context > rope_original_context ? rope_factors_long : rope_factors;
  }

  /// Throws unsupported (architecture, with those there are; a scaling kind or tensor that we do not run), bad_file (a key or tensor
  /// that is missing, of the wrong shape or out of range; each with its name and what was expected).
  static Config from(const gguf::File& file);
};

struct ModelTensors {
  Parameters model;  ///< the roles of no layer; output is the embedding where they are tied
  std::vector<Parameters> layers;
};

/// Looks every tensor up by the architecture's names and checks type (runnable), shape, and the places of sparse ones. Errors as in
/// Config::from.
ModelTensors find_tensors(const gguf::File& file, const Config& config);

}  // namespace skipstone::model
