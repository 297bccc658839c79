// From GGUF's block layouts to the device's: units in two planes (kernels/weight_format.h), rows padded to whole units with zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gguf/gguf.h"
#include "model/weight_layout.h"

namespace skipstone::model {

struct Planes {
  std::vector<std::byte> quants, scales;  ///< planes 0 and 1, whole 16-byte words; scales is empty for formats without
};

/// Rows [first, first + rows) of stacked matrices; with an `order` these are the rows order[first], ... of the only matrix. Rows are padded
/// to a multiple of `interleave` with zeros, and the blocks of that many rows alternate: block 0 of each, block 1 of each, ...
/// (kernels::Matrix::interleave). Throws bad_file for scales that are infinite or NaN, naming tensor and type.
Planes repack_rows(std::span<const gguf::Tensor* const> matrices, std::uint64_t first, std::uint64_t rows, std::uint32_t interleave,
                   std::span<const std::uint32_t> order = {});

/// The matrix that a place has instead of its only source (TensorPlace::turned), and its memory. Throws as repack_rows.
struct TurnedMatrix {
  std::vector<std::byte> bytes;
  gguf::Tensor tensor;
};
TurnedMatrix turn_rows(const gguf::Tensor& matrix, const TurnedRows& turned, gguf::Type type);

/// Norms or biases, one after the other, as padded f32. With `outputs` factors: the numbers of a vector for that many outputs, each for an
/// equal share of them; 1 where a vector is nullptr.
std::vector<std::byte> repack_vector(std::span<const gguf::Tensor* const> vectors, std::span<const std::uint64_t> outputs = {});

}  // namespace skipstone::model
