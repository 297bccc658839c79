// From GGUF's block layouts to the device's: quants and scales in planes of their own, rows padded to whole blocks of 32 with zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gguf/gguf.h"

namespace skipstone::model {

struct Planes {
  std::vector<std::byte> quants, scales;  ///< scales: half precision, in block order; empty for formats without
};

/// Rows [first, first + rows) of matrices that stand one above the other. Rows are padded to a multiple of `interleave` with zeros, and the
/// blocks of so many rows alternate: block 0 of each, block 1 of each, ... (kernels::Matrix::interleave).
Planes repack_rows(std::span<const gguf::Tensor* const> matrices, std::uint64_t first, std::uint64_t rows, std::uint32_t interleave);

/// Norms or biases, one behind the other, as padded f32.
std::vector<std::byte> repack_vector(std::span<const gguf::Tensor* const> vectors);

}  // namespace skipstone::model
