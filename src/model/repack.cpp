#include "model/repack.h"

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "kernels/operations.h"

namespace skipstone::model {
namespace {

// Q8_0 and Q4_0 blocks: a half-precision scale, then the quants of 32 weights.
void append_blocks(const gguf::Tensor& matrix, const std::byte* source, std::uint64_t blocks, Planes& planes) {
  const std::uint32_t block_bytes = gguf::traits(matrix.type).bytes;
  const std::size_t quant_bytes = block_bytes - 2, quants = planes.quants.size(), scales = planes.scales.size();
  planes.quants.resize(quants + blocks * quant_bytes);
  planes.scales.resize(scales + blocks * 2);
  for (std::uint64_t b = 0; b < blocks; ++b) {
    std::memcpy(planes.scales.data() + scales + b * 2, source + b * block_bytes, 2);
    std::memcpy(planes.quants.data() + quants + b * quant_bytes, source + b * block_bytes + 2, quant_bytes);
  }
}

void append_rows(const gguf::Tensor& matrix, std::uint64_t first, std::uint64_t rows, Planes& planes) {
  const std::uint64_t k = matrix.row_length(), row_bytes = gguf::row_bytes(matrix.type, k);
  const std::byte* source = matrix.data.data() + first * row_bytes;
  switch (matrix.type) {
    case gguf::Type::f32:
    case gguf::Type::f16:
    case gguf::Type::bf16: {
      const std::uint64_t padded_bytes = kernels::padded(static_cast<std::uint32_t>(k)) * (row_bytes / k), before = planes.quants.size();
      planes.quants.resize(before + rows * padded_bytes);
      for (std::uint64_t r = 0; r < rows; ++r)
        std::memcpy(planes.quants.data() + before + r * padded_bytes, source + r * row_bytes, row_bytes);
      return;
    }
    case gguf::Type::q8_0:
    case gguf::Type::q4_0:
      append_blocks(matrix, source, rows * (k / 32), planes);
      return;
  }
  fail(Code::unsupported, "tensor {} has type {}, which has no device layout", matrix.name, gguf::traits(matrix.type).name);
}

// `plane` holds rows of `units` units each; gives them back alternating, with rows of zeros up to a whole group.
std::vector<std::byte> interleaved(const std::vector<std::byte>& plane, std::uint64_t rows, std::uint64_t units, std::uint32_t interleave) {
  const std::uint64_t unit_bytes = plane.size() / (rows * units);
  std::vector<std::byte> out(kernels::padded_rows(rows, interleave) * units * unit_bytes);
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::byte* from = plane.data() + row * units * unit_bytes;
    std::byte* to = out.data() + (row / interleave * units * interleave + row % interleave) * unit_bytes;
    for (std::uint64_t unit = 0; unit < units; ++unit)
      std::memcpy(to + unit * interleave * unit_bytes, from + unit * unit_bytes, unit_bytes);
  }
  return out;
}

}  // namespace

Planes repack_rows(std::span<const gguf::Tensor* const> matrices, std::uint64_t first, std::uint64_t rows, std::uint32_t interleave) {
  Planes planes;
  std::uint64_t above = 0;  // rows of the matrices passed so far
  for (const gguf::Tensor* matrix : matrices) {
    const std::uint64_t from = std::max(first, above), to = std::min(first + rows, above + matrix->rows());
    if (from < to) append_rows(*matrix, from - above, to - from, planes);
    above += matrix->rows();
  }
  if (interleave > 1) {
    const std::uint64_t blocks = kernels::padded(static_cast<std::uint32_t>(matrices[0]->row_length())) / 32;
    planes.quants = interleaved(planes.quants, rows, blocks, interleave);
    if (!planes.scales.empty()) planes.scales = interleaved(planes.scales, rows, blocks, interleave);
  }
  planes.scales.resize((planes.scales.size() + 3) / 4 * 4);  // whole words
  return planes;
}

std::vector<std::byte> repack_vector(std::span<const gguf::Tensor* const> vectors) {
  std::uint64_t length = 0;
  for (const gguf::Tensor* vector : vectors) length += vector->elements();
  std::vector<float> values(kernels::padded(static_cast<std::uint32_t>(length)), 0.0f);
  std::uint64_t at = 0;
  for (const gguf::Tensor* vector : vectors) {
    gguf::dequantize(vector->type, vector->data, std::span(values).subspan(at, vector->elements()));
    at += vector->elements();
  }
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace skipstone::model
