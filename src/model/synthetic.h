// Models of published shapes without their weights, for benchmarks without downloads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "gguf/gguf.h"

namespace skipstone::model {

/// A metadata key under the architecture's prefix that only some models have.
struct SyntheticKey {
  std::string_view name;
  std::variant<std::uint32_t, float, std::string_view> value;
};

/// A model by its numbers.
struct SyntheticShape {
  std::string_view name;
  std::string_view architecture = "llama";
  std::uint32_t layers = 0, width = 0, heads = 0, kv_heads = 0;
  std::uint32_t head_dim = 0;  ///< 0: width / heads
  std::uint32_t ffn = 0, vocabulary = 0, context = 0;
  float rope_base = 10000.0f;
  bool tied = false;  ///< no output.weight
  std::span<const SyntheticKey> keys{};
  float rope_factor = 0.0f;             ///< above 0: rotary factors that rise from 1 to it
  std::uint32_t prediction_layers = 0;  ///< heads for multi-token prediction
};

std::span<const SyntheticShape> synthetic_shapes();

/// "NAME:TYPE", e.g. "llama-2-7b:q4_0": one of synthetic_shapes() and a type that has kernels, in upper or lower case. A
/// described file without a tokenizer: matrices are of TYPE, those whose rows do not divide into its blocks F16, norms F32. Throws
/// invalid_argument that lists the valid names.
gguf::File synthetic_model(const std::string& specification);
gguf::File synthetic_model(const SyntheticShape& shape, gguf::Type type);

/// A model's size, from its tensors' types and shapes.
struct ModelSize {
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;  ///< of the tensors, as a file has them
  gguf::Type type{};        ///< that most parameters have
};
ModelSize model_size(const gguf::File& file);

}  // namespace skipstone::model
