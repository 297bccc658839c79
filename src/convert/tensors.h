// Maps a checkpoint's tensors to those of a GGUF file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "convert/checkpoint.h"
#include "convert/safetensors.h"

namespace skipstone::convert {

struct MappedTensor {
  const SourceTensor* source = nullptr;
  std::string target;     ///< "blk.0.attn_q.weight"
  bool permuted = false;  ///< rows (of a bias: numbers) are those of heads, to be reordered by rotary_row()
  bool plus_one = false;  ///< 1 is added to each number

  /// In GGUF's order, fastest first.
  std::vector<std::uint64_t> shape() const { return {source->shape.rbegin(), source->shape.rend()}; }
};

/// Every tensor of the checkpoint's family (model::tensor_roles()), in the order of GGUF files. Throws bad_file for one that is missing or
/// of another shape (by its name in the checkpoint, with found and expected shape) and where tied embeddings differ; unsupported for
/// numbers that cannot be read and for tensors that change the computation. Other tensors without a place are warned of.
std::vector<MappedTensor> map_tensors(const Checkpoint& checkpoint, const Safetensors& weights);

/// The row of a Hugging Face Q or K matrix that row `row` of the GGUF one is. Rotary pairs are (i, i + head_dim/2) in the former and
/// neighbours in the latter; a head's rows are reordered so that both rotate the same numbers.
std::uint64_t rotary_row(std::uint64_t row, std::uint32_t head_dim);

}  // namespace skipstone::convert
