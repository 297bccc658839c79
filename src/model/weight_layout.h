// How a model's tensors lie on the device: by shape alone, so that plans and memory plans are made without one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/operations.h"
#include "model/config.h"

namespace skipstone::model {

struct LayerWeights {
  std::uint32_t attention_norm = 0, ffn_norm = 0;  ///< tensor ordinals
  kernels::Matrix q, k, v, o, gate, up, down;
  std::optional<std::uint32_t> q_bias, k_bias, v_bias, o_bias, gate_bias, up_bias, down_bias;
};

/// One tensor's place. Vectors (norms, biases) become f32; matrices keep their format in planes of their own (docs/numerics.md).
struct TensorPlace {
  const gguf::Tensor* source = nullptr;
  bool vector = false;
  kernels::Matrix matrix;  ///< matrices: format, shape, parts
  std::uint64_t quant_bytes(std::size_t part) const;
  std::uint64_t scale_bytes(std::size_t part) const;  ///< 0 for formats without scales
};

struct WeightLayout {
  std::vector<TensorPlace> tensors;   ///< by ordinal
  kernels::Matrix embedding, output;  ///< the same tensor where embeddings are tied
  std::uint32_t output_norm = 0;
  std::optional<std::uint32_t> output_bias;
  std::vector<LayerWeights> layers;

  std::uint64_t bytes() const;  ///< on the device
  const std::string& name(std::uint32_t tensor) const;
};

/// `max_range`: the most bytes one buffer binding may cover (Caps::max_storage_range); larger matrices are split by rows.
WeightLayout layout_weights(const ModelTensors& tensors, std::uint64_t max_range);

}  // namespace skipstone::model
