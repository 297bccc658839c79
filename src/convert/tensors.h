// Maps a checkpoint's tensors to those of a GGUF file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/checkpoint.h"
#include "convert/safetensors.h"

namespace skipstone::convert {

/// Begins the names of a checkpoint's head for multi-token prediction.
inline constexpr std::string_view prediction_prefix = "mtp.";

/// The place in the checkpoint of what is at a place in the file; empty: the same.
using Order = std::function<std::uint64_t(std::uint64_t place)>;

struct MappedTensor {
  const SourceTensor* source = nullptr;
  std::string target;                ///< "blk.0.attn_q.weight"
  std::vector<std::uint64_t> shape;  ///< in GGUF's order, fastest first
  std::uint64_t first_row = 0;       ///< of the source's rows, each as long as the target's
  Order rows = {}, columns = {};     ///< rows after first_row
  float (*change)(float) = nullptr;  ///< of each number
};

/// Every tensor of the checkpoint's family (model::tensor_roles()), in the order of GGUF files. Throws bad_file for one that is missing or
/// of another shape (by its name in the checkpoint, with found and expected shape) and where tied embeddings differ; unsupported for
/// numbers that cannot be read and for tensors that change the computation. Other tensors without a place are warned of.
std::vector<MappedTensor> map_tensors(const Checkpoint& checkpoint, const Safetensors& weights);

/// The row of a Hugging Face Q or K matrix that row `row` of the GGUF one is. Rotary pairs are (i, i + head_dim/2) in the former and
/// neighbours in the latter; a head's rows are reordered so that both rotate the same numbers.
std::uint64_t rotary_row(std::uint64_t row, std::uint32_t head_dim);

}  // namespace skipstone::convert
