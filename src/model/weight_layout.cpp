#include "model/weight_layout.h"

#include <algorithm>

#include "base/status.h"
#include "gguf/gguf.h"

namespace skipstone::model {
namespace {

// Bytes of one padded row's quants: 32 weights in 128, 64, 32 or 16 bytes, all multiples of a 16-byte load.
std::uint64_t quant_row_bytes(gguf::Type format, std::uint32_t k) {
  const std::uint64_t blocks = kernels::padded(k) / 32;
  switch (format) {
    case gguf::Type::f32:
      return blocks * 128;
    case gguf::Type::f16:
    case gguf::Type::bf16:
      return blocks * 64;
    case gguf::Type::q8_0:
      return blocks * 32;
    case gguf::Type::q4_0:
      return blocks * 16;
  }
  fail(Code::unsupported, "there is no device layout for weights of type {}", gguf::traits(format).name);
}

class Builder {
 public:
  Builder(WeightLayout& layout, std::uint64_t max_range) : layout_(layout), max_range_(max_range) {}

  std::uint32_t vector(const gguf::Tensor* tensor) {
    const kernels::Matrix shape{ordinal(), gguf::Type::f32, 1, static_cast<std::uint32_t>(tensor->elements()), {{0, 1}}};
    layout_.tensors.push_back({tensor, true, shape});
    return shape.tensor;
  }

  std::optional<std::uint32_t> optional_vector(const gguf::Tensor* tensor) {
    return tensor == nullptr ? std::nullopt : std::optional(vector(tensor));
  }

  kernels::Matrix matrix(const gguf::Tensor* tensor) {
    kernels::Matrix m{
        ordinal(), tensor->type, static_cast<std::uint32_t>(tensor->rows()), static_cast<std::uint32_t>(tensor->row_length()), {}};
    const std::uint64_t row = quant_row_bytes(m.format, m.k);
    // An even number of rows per part keeps every part's scales aligned to words.
    const std::uint64_t most = std::max<std::uint64_t>(2, max_range_ / row / 2 * 2);
    if (most > m.n) {
      m.parts = {{0, m.n}};
    } else {
      for (std::uint32_t first = 0; first < m.n; first += static_cast<std::uint32_t>(most)) {
        m.parts.push_back({first, std::min(static_cast<std::uint32_t>(most), m.n - first)});
      }
    }
    layout_.tensors.push_back({tensor, false, m});
    return m;
  }

 private:
  std::uint32_t ordinal() const { return static_cast<std::uint32_t>(layout_.tensors.size()); }

  WeightLayout& layout_;
  std::uint64_t max_range_;
};

LayerWeights layout_layer(Builder& build, const LayerTensors& t) {
  LayerWeights w;
  w.attention_norm = build.vector(t.attention_norm);
  w.q = build.matrix(t.q);
  w.k = build.matrix(t.k);
  w.v = build.matrix(t.v);
  w.o = build.matrix(t.o);
  w.q_bias = build.optional_vector(t.q_bias);
  w.k_bias = build.optional_vector(t.k_bias);
  w.v_bias = build.optional_vector(t.v_bias);
  w.o_bias = build.optional_vector(t.o_bias);
  w.ffn_norm = build.vector(t.ffn_norm);
  w.gate = build.matrix(t.gate);
  w.up = build.matrix(t.up);
  w.down = build.matrix(t.down);
  w.gate_bias = build.optional_vector(t.gate_bias);
  w.up_bias = build.optional_vector(t.up_bias);
  w.down_bias = build.optional_vector(t.down_bias);
  return w;
}

}  // namespace

std::uint64_t TensorPlace::quant_bytes(std::size_t part) const {
  if (vector) return std::uint64_t{kernels::padded(matrix.k)} * sizeof(float);
  return quant_row_bytes(matrix.format, matrix.k) * matrix.parts[part].rows;
}

std::uint64_t TensorPlace::scale_bytes(std::size_t part) const {
  if (vector || !kernels::has_scales(matrix.format)) return 0;
  const std::uint64_t halves = std::uint64_t{kernels::padded(matrix.k) / 32} * matrix.parts[part].rows;
  return (halves + 1) / 2 * 4;
}

std::uint64_t WeightLayout::bytes() const {
  std::uint64_t total = 0;
  for (const TensorPlace& place : tensors) {
    for (std::size_t part = 0; part < place.matrix.parts.size(); ++part) total += place.quant_bytes(part) + place.scale_bytes(part);
  }
  return total;
}

const std::string& WeightLayout::name(std::uint32_t tensor) const { return tensors.at(tensor).source->name; }

WeightLayout layout_weights(const ModelTensors& tensors, std::uint64_t max_range) {
  WeightLayout layout;
  Builder build(layout, max_range);
  layout.embedding = build.matrix(tensors.embedding);
  for (const LayerTensors& layer : tensors.layers) layout.layers.push_back(layout_layer(build, layer));
  layout.output_norm = build.vector(tensors.output_norm);
  layout.output = tensors.output == tensors.embedding ? layout.embedding : build.matrix(tensors.output);
  layout.output_bias = build.optional_vector(tensors.output_bias);
  return layout;
}

}  // namespace skipstone::model
