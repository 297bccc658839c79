// How many bytes the tensors of a layout have, and how many of them a token reads.
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "gguf/gguf.h"
#include "kernels/weight_format.h"
#include "model/weight_layout.h"

namespace skipstone::model {
namespace {

std::uint64_t units_of_part(const kernels::Matrix& matrix, std::size_t part) {
  return kernels::units_of_row(kernels::weight_format(matrix.format), matrix.k) *
         kernels::padded_rows(matrix.parts[part].rows, matrix.interleave);
}

/// The tensors of a layer that have a matrix of each expert.
std::vector<std::uint32_t> stacks_of(const LayerWeights& layer) {
  const auto* experts = std::get_if<ExpertsWeights>(&layer.feedforward);
  if (experts == nullptr) return {};
  std::vector<std::uint32_t> stacks{experts->up.tensor, experts->down.tensor};
  if (experts->gate) stacks.push_back(experts->gate->tensor);
  return stacks;
}

}  // namespace

std::uint64_t TensorPlace::quant_bytes(std::size_t part) const {
  if (vector) return std::uint64_t{kernels::padded(matrix.k)} * sizeof(float);
  return kernels::plane_bytes(units_of_part(matrix, part), kernels::weight_format(matrix.format).quant_bytes);
}

std::uint64_t TensorPlace::scale_bytes(std::size_t part) const {
  if (vector) return 0;
  const std::uint64_t units = kernels::plane_bytes(units_of_part(matrix, part), kernels::weight_format(matrix.format).scale_bytes);
  return kernels::table_bytes(matrix.format) + units;
}

std::uint64_t TensorPlace::bytes() const {
  std::uint64_t total = 0;
  for (std::size_t part = 0; part < matrix.parts.size(); ++part) total += quant_bytes(part) + scale_bytes(part);
  return total;
}

std::uint64_t WeightLayout::bytes() const {
  std::uint64_t total = 0;
  for (const TensorPlace& place : tensors) total += place.bytes();
  return total;
}

std::uint64_t WeightLayout::layer_bytes(std::uint32_t layer) const {
  std::uint64_t total = 0;
  for (std::uint32_t tensor = first_tensors[layer]; tensor < first_tensors[layer + 1]; ++tensor) total += tensors[tensor].bytes();
  return total;
}

std::uint64_t WeightLayout::host_bytes() const {
  std::uint64_t total = 0;
  for (const TensorPlace& place : tensors) total += place.on_host ? place.bytes() : 0;
  return total;
}

std::uint64_t WeightLayout::expert_bytes(std::uint32_t layer) const {
  std::uint64_t total = 0;
  for (const std::uint32_t tensor : stacks_of(layers[layer])) total += tensors[tensor].bytes();
  return total;
}

std::uint32_t WeightLayout::leading_experts() const {
  std::uint32_t count = layer_count();
  while (count > 0 && stacks_of(layers[count - 1]).empty()) --count;
  return count;
}

void WeightLayout::keep_experts_on_host(std::uint32_t count) {
  experts_on_host = count;
  for (std::uint32_t layer = 0; layer < layer_count(); ++layer) {
    for (const std::uint32_t tensor : stacks_of(layers[layer])) tensors[tensor].on_host = layer < count;
  }
}

void WeightLayout::keep_layers(std::uint32_t begin, std::uint32_t end) {
  for (std::uint32_t tensor = 0; tensor < tensors.size(); ++tensor) {
    const bool of_layers = tensor >= first_tensors.front() && tensor < first_tensors.back();
    const bool kept = of_layers ? tensor >= first_tensors[begin] && tensor < first_tensors[end] : begin == 0;
    if (!kept) tensors[tensor].matrix.parts.clear();
  }
}

std::uint64_t WeightLayout::bytes_per_token() const {
  std::uint64_t read = 0;
  for (std::uint32_t tensor = 0; tensor < first_of_heads; ++tensor)
    read += tensors[tensor].bytes() * tensors[tensor].experts_used / tensors[tensor].experts;
  for (std::size_t head = 0; head < predictions.size(); ++head) {
    read += tensors[predictions[head].in.tensor].bytes();
    const auto* attention = std::get_if<AttentionWeights>(&layers[layers.size() - predictions.size() + head].mixer);
    if (attention == nullptr) continue;
    for (const Projection& projection : attention->projections) read += tensors[projection.matrix.tensor].bytes();
  }
  const auto reads_a_row = [&](const kernels::Matrix& table) {
    const std::uint64_t all = tensors[table.tensor].bytes();
    read -= all - all / table.n;
  };
  if (token_inputs) reads_a_row(token_inputs->embedding);
  if (embedding.tensor != output.tensor) reads_a_row(embedding);
  return read;
}

const std::string& WeightLayout::name(std::uint32_t tensor) const { return tensors.at(tensor).name; }

}  // namespace skipstone::model
