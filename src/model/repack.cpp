#include "model/repack.h"

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "gguf/block_code.h"
#include "kernels/operations.h"
#include "kernels/weight_format.h"

namespace skipstone::model {
namespace {

constexpr std::uint64_t read_bytes = 256u << 10;

/// Rows of one matrix on their way to planes in which the units of `interleave` rows alternate.
class Repacking {
 public:
  Repacking(const gguf::Tensor& like, std::uint64_t rows, std::uint32_t interleave)
      : format_(kernels::weight_format(like.type)),
        code_(gguf::block_code(like.type)),
        units_(kernels::units_of_row(format_, static_cast<std::uint32_t>(like.row_length()))),
        interleave_(interleave) {
    const std::uint64_t all = kernels::padded_rows(rows, interleave) * units_;
    planes_.quants.resize(kernels::plane_bytes(all, format_.quant_bytes));
    planes_.scales.resize(kernels::plane_bytes(all, format_.scale_bytes));
  }

  /// `source` becomes row `row` of the planes. False if a scale that is checked is not finite.
  bool put(std::uint64_t row, const std::byte* source, std::uint64_t source_bytes) {
    const auto repack = code_.repack;
    const auto finite = code_.finite;
    const std::uint64_t source_unit = repack == nullptr ? format_.quant_bytes : source_bytes / units_;
    for (std::uint64_t u = 0; u < units_; ++u) {
      const std::uint64_t unit = (row / interleave_ * units_ + u) * interleave_ + row % interleave_, at = u * source_unit;
      std::byte* quants = planes_.quants.data() + unit * format_.quant_bytes;
      if (repack == nullptr) {  // the last unit of a row of floats may be a part of one
        std::memcpy(quants, source + at, std::min<std::uint64_t>(source_unit, source_bytes - at));
      } else {
        if (finite != nullptr && !finite(source + at)) return false;
        repack(source + at, quants, planes_.scales.data() + unit * format_.scale_bytes);
      }
    }
    return true;
  }

  Planes take() { return std::move(planes_); }

 private:
  const kernels::WeightFormat& format_;
  const gguf::BlockCode& code_;
  std::uint64_t units_;
  std::uint32_t interleave_;
  Planes planes_;
};

}  // namespace

Planes repack_rows(std::span<const gguf::Tensor* const> matrices, std::uint64_t first, std::uint64_t rows, std::uint32_t interleave) {
  Repacking repacking(*matrices[0], rows, interleave);
  std::vector<std::byte> buffer;
  std::span<const std::byte> piece;
  std::uint64_t above = 0;  // rows of the matrices passed so far
  for (const gguf::Tensor* matrix : matrices) {
    const std::uint64_t row_bytes = gguf::row_bytes(matrix->type, matrix->row_length());
    const std::uint64_t from = std::max(first, above), to = std::min(first + rows, above + matrix->rows());
    // Some rows at a time, which stay in the core's cache between being read and being repacked.
    const std::uint64_t at_once = std::max<std::uint64_t>(1, read_bytes / row_bytes);
    for (std::uint64_t row = from; row < to; ++row) {
      const std::uint64_t in_piece = (row - from) % at_once;
      if (in_piece == 0) piece = matrix->data.view((row - above) * row_bytes, std::min(at_once, to - row) * row_bytes, buffer);
      if (!repacking.put(row - first, piece.data() + in_piece * row_bytes, row_bytes)) {
        fail(Code::bad_file, "Tensor '{}' of type {} has a scale in row {} that is not finite; the file is damaged.",
             gguf::escaped(matrix->name), gguf::traits(matrix->type).name, row - above);
      }
    }
    above += matrix->rows();
  }
  return repacking.take();
}

std::vector<std::byte> repack_vector(std::span<const gguf::Tensor* const> vectors) {
  std::uint64_t length = 0;
  for (const gguf::Tensor* vector : vectors) length += vector->elements();
  std::vector<float> values(kernels::padded(static_cast<std::uint32_t>(length)), 0.0f);
  std::uint64_t at = 0;
  for (const gguf::Tensor* vector : vectors) {
    gguf::dequantize(*vector, std::span(values).subspan(at, vector->elements()));
    at += vector->elements();
  }
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace skipstone::model
