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

/// Rows [first, first + rows) of a matrix.
Planes repack_rows(const gguf::Tensor& matrix, std::uint64_t first, std::uint64_t rows);

/// A norm or bias as padded f32.
std::vector<std::byte> repack_vector(const gguf::Tensor& vector);

}  // namespace skipstone::model
