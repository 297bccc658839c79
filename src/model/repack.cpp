#include "model/repack.h"

#include <cstring>

#include "base/status.h"
#include "kernels/operations.h"

namespace skipstone::model {
namespace {

// Q8_0 and Q4_0 blocks: a half-precision scale, then the quants of 32 weights.
void split_blocks(const gguf::Tensor& matrix, const std::byte* source, std::uint64_t blocks, Planes& planes) {
  const std::uint32_t block_bytes = gguf::traits(matrix.type).bytes;
  const std::size_t quant_bytes = block_bytes - 2;
  planes.quants.resize(blocks * quant_bytes);
  planes.scales.resize((blocks + 1) / 2 * 4);
  for (std::uint64_t b = 0; b < blocks; ++b) {
    std::memcpy(planes.scales.data() + b * 2, source + b * block_bytes, 2);
    std::memcpy(planes.quants.data() + b * quant_bytes, source + b * block_bytes + 2, quant_bytes);
  }
}

}  // namespace

Planes repack_rows(const gguf::Tensor& matrix, std::uint64_t first, std::uint64_t rows) {
  const std::uint64_t k = matrix.row_length(), row_bytes = gguf::row_bytes(matrix.type, k);
  const std::byte* source = matrix.data.data() + first * row_bytes;
  Planes planes;
  switch (matrix.type) {
    case gguf::Type::f32:
    case gguf::Type::f16:
    case gguf::Type::bf16: {
      const std::uint64_t padded_bytes = kernels::padded(static_cast<std::uint32_t>(k)) * (row_bytes / k);
      planes.quants.resize(rows * padded_bytes);
      for (std::uint64_t r = 0; r < rows; ++r) std::memcpy(planes.quants.data() + r * padded_bytes, source + r * row_bytes, row_bytes);
      return planes;
    }
    case gguf::Type::q8_0:
    case gguf::Type::q4_0:
      split_blocks(matrix, source, rows * (k / 32), planes);
      return planes;
  }
  fail(Code::unsupported, "tensor {} has type {}, which has no device layout", matrix.name, gguf::traits(matrix.type).name);
}

std::vector<std::byte> repack_vector(const gguf::Tensor& vector) {
  const auto length = static_cast<std::uint32_t>(vector.elements());
  std::vector<float> values(kernels::padded(length), 0.0f);
  gguf::dequantize(vector.type, vector.data, std::span(values).first(length));
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace skipstone::model
