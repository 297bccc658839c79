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

struct Config {
  std::string architecture, name;
  std::uint32_t layers = 0, width = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocabulary = 0;
  std::uint32_t context_trained = 0;
  std::uint32_t rope_dim = 0;  ///< dimensions of a head that rotate
  float rope_base = 10000.0f;
  float rope_scale = 1.0f;  ///< positions are divided by it (linear scaling)
  RopePairs rope_pairs = RopePairs::neighbours;
  std::vector<float> rope_factors;  ///< rope_freqs.weight: each pair's frequency is divided by its factor; empty for none
  float norm_epsilon = 1e-5f;
  bool tied_embeddings = false;  ///< no output.weight: the embedding is the LM head
  std::uint32_t exit_layer = 0;  ///< the exit a LayerSkip checkpoint was trained for; 0: unknown

  std::uint32_t q_width() const { return heads * head_dim; }
  std::uint32_t kv_width() const { return kv_heads * head_dim; }
  std::uint32_t group() const { return heads / kv_heads; }

  /// Throws unsupported (architecture, with those there are; a scaling kind or tensor that we do not run), bad_file (a key or tensor
  /// that is missing, of the wrong shape or out of range; each with its name and what was expected).
  static Config from(const gguf::File& file);
};

/// The matrices and vectors of one layer; nullptr where a model has none.
struct LayerTensors {
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
};
std::span<const Architecture> architectures();

}  // namespace skipstone::model
