// How a model's tensors lie in memory: by shape alone, so that plans and memory plans are made without one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kernels/operations.h"
#include "model/config.h"

namespace skipstone::model {

/// Q, K and V, or those neighbours among them that have one format, as one matrix: their outputs are in one row of q, k, v.
struct Projection {
  kernels::Matrix matrix;
  std::uint32_t first = 0;  ///< where its outputs start
  std::string name;         ///< "attn_qkv", "attn_q", ...
};

/// A norm's weight and, of most layer norms, its bias: tensor ordinals.
struct NormWeights {
  std::uint32_t weight = 0;
  std::optional<std::uint32_t> bias = {};
  bool centred = false;  ///< the mean is subtracted
};

/// Besides the matrix of keys, with which that of Q is where queries have no latent vector. k_b and v_b are stacks: a matrix of each head.
struct LatentWeights {
  std::optional<kernels::Matrix> q_a, q_b;
  kernels::Matrix k_b, v_b;
};

struct AttentionWeights {
  std::vector<Projection> projections;
  std::optional<std::uint32_t> qkv_bias, q_norm, k_norm;
  std::optional<LatentWeights> latents;
  kernels::Matrix o;
  std::optional<std::uint32_t> o_bias, sinks;
};

/// The matrix that a recurrent mixer begins with, as those of neighbours among its matrices that have one format.
/// ShortConv: rows B, C, x. GatedDeltaNet: gate, q, k, v, beta, alpha. Mamba2: gate, x, B, C, dt.
using RecurrentInput = std::vector<Projection>;

struct ShortConvWeights {
  RecurrentInput in;
  std::uint32_t taps = 0;  ///< by channel, the taps of a channel in order; the last one is of the row itself
  kernels::Matrix out;
};

/// Vectors have a number for each value head, but `norm` one for each dimension of a head.
struct GatedDeltaNetWeights {
  RecurrentInput in;
  std::uint32_t taps = 0;        ///< as ShortConvWeights::taps
  std::uint32_t dt_bias = 0;     ///< added to alpha
  std::uint32_t decay_rate = 0;  ///< below 0: the state decays by exp(decay_rate * softplus(alpha + dt_bias))
  std::uint32_t norm = 0;
  kernels::Matrix out;
};

/// Vectors have a number for each head, but `norm` one for each output of the heads.
struct Mamba2Weights {
  RecurrentInput in;
  std::uint32_t taps = 0, taps_bias = 0;  ///< as ShortConvWeights::taps; a number for each channel
  std::uint32_t dt_bias = 0;              ///< added to dt
  std::uint32_t decay_rate = 0;           ///< below 0: the state decays by exp(decay_rate * softplus(dt + dt_bias))
  std::uint32_t skip = 0;                 ///< the factor of x in the output
  std::uint32_t norm = 0;
  kernels::Matrix out;
};

struct MlpWeights {
  std::optional<kernels::Matrix>
      gate_up;  ///< gate above up, where the file has them so, or they have one format, no biases, and fit one binding
  std::optional<kernels::Matrix> gate, up;  ///< where they do not; `up` alone without a gate
  std::optional<std::uint32_t> gate_up_bias;
  kernels::Matrix down;
  std::optional<std::uint32_t> down_bias;
};

/// Matrices of all experts are stacks: expert e has the rows from e * (rows / experts) on. A bias has a number for each row.
struct ExpertsWeights {
  std::vector<Projection> router;  ///< rows of the experts' logits, and after them that of the shared expert's gate
  std::optional<std::uint32_t> router_bias, correction;
  std::optional<std::uint32_t> router_norm, input_norm, output_norm, shared_output_norm;  ///< Experts::own_norms
  std::optional<kernels::Matrix> gate;
  kernels::Matrix up, down;  ///< up: gate above up where the file has them so
  std::optional<std::uint32_t> gate_bias, up_bias, down_bias;
  std::optional<kernels::Matrix> latent_down, latent_up;
  std::optional<MlpWeights> shared;
};

/// Of per-layer embeddings: a layer's gate, the matrix after it, and the norm of what it adds.
struct TokenAdditionWeights {
  kernels::Matrix gate, out;
  std::uint32_t norm = 0;
};

/// The alternatives are in the order of those of Mixer and Feedforward.
struct LayerWeights {
  std::optional<NormWeights> attention_norm, attention_post_norm, ffn_norm, ffn_post_norm;
  std::variant<AttentionWeights, ShortConvWeights, GatedDeltaNetWeights, Mamba2Weights, std::monostate> mixer;
  std::variant<MlpWeights, ExpertsWeights, std::monostate> feedforward;
  std::optional<TokenAdditionWeights> token_addition = {};
  std::optional<std::uint32_t> output_scale = {};  ///< tensor of one number

  /// In the order of a pass, without stacks: those of experts, of which a pass reads parts, and of heads.
  std::vector<const kernels::Matrix*> matrices() const;
};

/// Matrices in the rows of one: of every `step` rows the first `rows`, turned, so that its columns are their rows.
struct TurnedRows {
  std::uint32_t step = 0, rows = 0;
};

/// The place of a tensor, or of several that are multiplied together. Vectors (norms, biases) become f32; matrices keep their format in
/// planes of their own (docs/numerics.md).
struct TensorPlace {
  std::vector<const gguf::Tensor*> sources;  ///< stacked (vectors: concatenated, or repeated for `outputs`)
  std::string name;                          ///< of the sources
  bool vector = false;
  kernels::Matrix matrix;                             ///< matrices: format, shape, parts
  std::uint64_t quant_bytes(std::size_t part) const;  ///< plane 0
  std::uint64_t scale_bytes(std::size_t part) const;  ///< plane 1; 0 for formats without
  std::uint64_t bytes() const;                        ///< of all parts
  std::uint32_t experts = 1, experts_used = 1;        ///< of a stack: its matrices, and how many of them a row reads
  bool on_host = false;                               ///< in host memory, where the device reads it
  /// Where the rows are not those of the sources in their order: the row of the only source for each of them.
  std::vector<std::uint32_t> order = {};
  std::optional<TurnedRows> turned = {};  ///< of the only source, in floats or halves
  /// Of vectors of factors: for how many outputs each source has its numbers, in equal shares. A source may be nullptr: they have 1.
  std::vector<std::uint64_t> outputs = {};
};

/// A head for multi-token prediction, besides its layer.
struct PredictionWeights {
  kernels::Matrix embedding, output;                  ///< the model's where the head has none of its own
  std::uint32_t embedding_norm = 0, hidden_norm = 0;  ///< tensor ordinals
  kernels::Matrix in;                                 ///< of rows with both after each other
  NormWeights norm;                                   ///< before the output matrix; the model's where the head has none
};

/// Per-layer embeddings: rows of those of all layers, the matrix that makes as many numbers of a token's embedding, and their norm.
struct TokenInputWeights {
  kernels::Matrix embedding, projection;
  std::uint32_t norm = 0;
};

struct WeightLayout {
  std::vector<TensorPlace> tensors;   ///< by ordinal
  kernels::Matrix embedding, output;  ///< the same tensor where embeddings are tied
  std::optional<TokenInputWeights> token_inputs;
  NormWeights output_norm;
  std::optional<std::uint32_t> output_bias;
  std::vector<LayerWeights> layers;            ///< by block: after the model's layers those of heads
  std::vector<PredictionWeights> predictions;  ///< by head
  std::vector<std::uint32_t> first_tensors;    ///< by layer of the model: its first ordinal; and the first one after all layers
  std::uint32_t first_of_heads = 0;            ///< the first ordinal of heads, which are the last tensors
  std::uint32_t experts_on_host = 0;           ///< keep_experts_on_host()

  std::uint64_t bytes() const;       ///< of all tensors
  std::uint64_t host_bytes() const;  ///< of those in host memory
  std::uint64_t layer_bytes(std::uint32_t layer) const;
  std::uint64_t expert_bytes(std::uint32_t layer) const;  ///< of layer_bytes(), the stacks of experts; 0 for layers without
  std::uint32_t layer_count() const { return static_cast<std::uint32_t>(first_tensors.size() - 1); }
  /// The number of leading layers among which all with experts are; 0 without any.
  std::uint32_t leading_experts() const;
  /// The stacks of experts in the first `count` layers of the model are in host memory, the others on the device. Biases, the router and
  /// shared experts, which every row reads, stay on the device.
  void keep_experts_on_host(std::uint32_t count);
  /// Tensors outside the layers [begin, end) get no bytes: embedding, last norm, output and heads belong to the first layer. Ordinals stay.
  void keep_layers(std::uint32_t begin, std::uint32_t end);
  /// Read by a pass over one token: all of it, but of experts those that a row chooses, one row of the embedding where that is not the
  /// output's matrix too, and of heads what keys and values are computed with.
  std::uint64_t bytes_per_token() const;
  const std::string& name(std::uint32_t tensor) const;
};

/// `max_range`: the most bytes one buffer binding may cover (Caps::max_storage_range); larger matrices are split by rows.
/// `interleave`: Matrix::interleave of all matrices.
WeightLayout layout_weights(const Config& config, const ModelTensors& tensors, std::uint64_t max_range, std::uint32_t interleave);

}  // namespace skipstone::model
