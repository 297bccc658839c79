// A model's shape, read from GGUF metadata and checked against the tensors. An architecture is a row of data, not a class.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skipstone::gguf {
class File;
struct Tensor;
}  // namespace skipstone::gguf

namespace skipstone::model {

/// How RoPE pairs a head's dimensions: neighbours (2i, 2i+1) as GGUF stores Llama, or halves (i, i + rope_dim/2).
enum class RopePairs { neighbours, halves };

/// What one layer does differently from its neighbours, and what the passes of its family do differently from Llama's.
struct LayerSpec {
  bool rotates = true;   ///< Q and K turn with their position (RoPE); layers without know no positions
  bool qk_norm = false;  ///< each head of Q and K is RMS-normalised behind its projection, before it turns
};

struct Config {
  std::string architecture, name;
  std::uint32_t layers = 0, width = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocabulary = 0;
  std::uint32_t context_trained = 0;
  std::uint32_t rope_dim = 0;  ///< dimensions of a head that rotate
  float rope_base = 10000.0f;
  float rope_scale = 1.0f;  ///< positions are divided by it (linear scaling)
  RopePairs rope_pairs = RopePairs::neighbours;
  /// Each pair's frequency is divided by its factor; empty for none. rope_freqs.weight, or rope_factors_short.weight of models that have
  /// two sets (LongRoPE, arXiv 2402.13753): these take `rope_factors_long` in contexts of more than `rope_original_context` tokens.
  std::vector<float> rope_factors, rope_factors_long;
  std::uint32_t rope_original_context = 0;
  float rope_magnitude = 1.0f;        ///< of the rotated dimensions of Q and K: LongRoPE's attention factor
  std::uint32_t unrotated_every = 0;  ///< every so many layers one does not rotate; 0: all do
  bool qk_norm = false;               ///< LayerSpec::qk_norm, of all layers
  std::uint32_t context_limit = 0;    ///< longest context that it runs exactly: a sliding window's length; 0: none
  float norm_epsilon = 1e-5f;
  bool tied_embeddings = false;  ///< no output.weight: the embedding is the LM head
  std::uint32_t exit_layer = 0;  ///< the exit a LayerSkip checkpoint was trained for; 0: unknown

  std::uint32_t q_width() const { return heads * head_dim; }
  std::uint32_t kv_width() const { return kv_heads * head_dim; }
  std::uint32_t group() const { return heads / kv_heads; }
  LayerSpec layer(std::uint32_t index) const { return {unrotated_every == 0 || (index + 1) % unrotated_every != 0, qk_norm}; }
  /// Chosen by the context, never by a position: a token's bits may not depend on how long its text has become.
  const std::vector<float>& factors_for(std::uint32_t context) const {
    return !rope_factors_long.empty() && context > rope_original_context ? rope_factors_long : rope_factors;
  }

  /// Throws unsupported (architecture, with those there are; a scaling kind or tensor that we do not run), bad_file (a key or tensor
  /// that is missing, of the wrong shape or out of range; each with its name and what was expected).
  static Config from(const gguf::File& file);
};

/// The matrices and vectors of one layer; nullptr where a model has none. Fused: `qkv` is q above k above v, `gate_up` gate above up, and
/// the matrices that they are made of are nullptr.
struct LayerTensors {
  const gguf::Tensor *qkv = nullptr, *gate_up = nullptr, *q_norm = nullptr, *k_norm = nullptr;
  const gguf::Tensor *attention_norm = nullptr, *q = nullptr, *k = nullptr, *v = nullptr, *o = nullptr;
  const gguf::Tensor *q_bias = nullptr, *k_bias = nullptr, *v_bias = nullptr, *o_bias = nullptr;
  const gguf::Tensor *ffn_norm = nullptr, *gate = nullptr, *up = nullptr, *down = nullptr;
  const gguf::Tensor *gate_bias = nullptr, *up_bias = nullptr, *down_bias = nullptr;
};

struct ModelTensors {
  const gguf::Tensor *embedding = nullptr, *output_norm = nullptr, *output = nullptr,
                     *output_bias = nullptr;  ///< output: = embedding where tied
  std::vector<LayerTensors> layers;
};

/// Looks every tensor up by the architecture's names and checks type (runnable), shape, and the places of sparse ones. Errors as in
/// Config::from.
ModelTensors find_tensors(const gguf::File& file, const Config& config);

/// One row per architecture that we run.
struct Architecture {
  std::string_view name;  ///< general.architecture, also the prefix of its keys
  RopePairs rope_pairs;
  bool qk_norm = false;
  std::uint32_t unrotated_every = 0;  ///< see Config
  bool fused = false;                 ///< attn_qkv, and gate in ffn_up
  bool long_rope = false;             ///< may have two sets of rotary factors
};
std::span<const Architecture> architectures();

}  // namespace skipstone::model
