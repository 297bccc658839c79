#include "model/repack.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"
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

  /// `source` becomes row `row` of the planes.
  void put(std::uint64_t row, const std::byte* source, std::uint64_t source_bytes) {
    const auto repack = code_.repack;
    const std::uint64_t source_unit = repack == nullptr ? format_.quant_bytes : source_bytes / units_;
    for (std::uint64_t u = 0; u < units_; ++u) {
      const std::uint64_t unit = (row / interleave_ * units_ + u) * interleave_ + row % interleave_, at = u * source_unit;
      std::byte* quants = planes_.quants.data() + unit * format_.quant_bytes;
      if (repack == nullptr) {  // the last unit of a row of floats may be a part of one
        std::memcpy(quants, source + at, std::min<std::uint64_t>(source_unit, source_bytes - at));
      } else {
        repack(source + at, quants, planes_.scales.data() + unit * format_.scale_bytes);
      }
    }
  }

  Planes take() { return std::move(planes_); }

 private:
  const kernels::WeightFormat& format_;
  const gguf::BlockCode& code_;
  std::uint64_t units_;
  std::uint32_t interleave_;
  Planes planes_;
};

void check_scales(const gguf::Tensor& matrix, std::uint64_t row, const std::byte* blocks) {
  const gguf::Traits& traits = gguf::traits(matrix.type);
  if (gguf::scales_are_finite(matrix.type, blocks, matrix.row_length() / traits.block)) return;
  fail(Code::bad_file, "Tensor '{}' of type {} has a scale in row {} that is infinite or not a number; the file is damaged.",
       gguf::escaped(matrix.name), traits.name, row);
}

}  // namespace

Planes repack_rows(std::span<const gguf::Tensor* const> matrices, std::uint64_t first, std::uint64_t rows, std::uint32_t interleave,
                   std::span<const std::uint32_t> order) {
  Repacking repacking(*matrices[0], rows, interleave);
  std::vector<std::byte> buffer;
  std::span<const std::byte> piece;
  if (!order.empty()) {
    const std::uint64_t row_bytes = gguf::row_bytes(matrices[0]->type, matrices[0]->row_length());
    for (std::uint64_t row = 0; row < rows; ++row) {
      piece = matrices[0]->data.view(order[first + row] * row_bytes, row_bytes, buffer);
      check_scales(*matrices[0], order[first + row], piece.data());
      repacking.put(row, piece.data(), row_bytes);
    }
    return repacking.take();
  }
  std::uint64_t above = 0;  // rows of the matrices passed so far
  for (const gguf::Tensor* matrix : matrices) {
    const std::uint64_t row_bytes = gguf::row_bytes(matrix->type, matrix->row_length());
    const std::uint64_t from = std::max(first, above), to = std::min(first + rows, above + matrix->rows());
    // Some rows at a time, which stay in the core's cache between being read and being repacked.
    const std::uint64_t at_once = std::max<std::uint64_t>(1, read_bytes / row_bytes);
    for (std::uint64_t row = from; row < to; ++row) {
      const std::uint64_t in_piece = (row - from) % at_once;
      if (in_piece == 0) piece = matrix->data.view((row - above) * row_bytes, std::min(at_once, to - row) * row_bytes, buffer);
      check_scales(*matrix, row - above, piece.data() + in_piece * row_bytes);
      repacking.put(row - first, piece.data() + in_piece * row_bytes, row_bytes);
    }
    above += matrix->rows();
  }
  return repacking.take();
}

TurnedMatrix turn_rows(const gguf::Tensor& matrix, const TurnedRows& turned, gguf::Type type) {
  const std::uint64_t length = matrix.row_length(), parts = matrix.rows() / turned.step, row_bytes = gguf::row_bytes(matrix.type, length);
  std::vector<std::byte> buffer;
  for (std::uint64_t row = 0; row < matrix.rows(); ++row) {
    check_scales(matrix, row, matrix.data.view(row * row_bytes, row_bytes, buffer).data());
  }
  std::vector<float> all(matrix.elements());
  gguf::dequantize(matrix, all);
  const std::uint64_t width = gguf::row_bytes(type, 1);
  TurnedMatrix result;
  result.bytes.resize(parts * length * turned.rows * width);
  std::byte* to = result.bytes.data();
  for (std::uint64_t part = 0; part < parts; ++part) {
    for (std::uint64_t column = 0; column < length; ++column) {
      for (std::uint64_t row = 0; row < turned.rows; ++row, to += width) {
        const float value = all[(part * turned.step + row) * length + column];
        const std::uint16_t half = float_to_half(value);
        std::memcpy(to, type == gguf::Type::f16 ? static_cast<const void*>(&half) : &value, width);
      }
    }
  }
  result.tensor = {matrix.name, type, 3, {turned.rows, length, parts, 1}, Bytes(result.bytes)};
  return result;
}

std::vector<std::byte> repack_vector(std::span<const gguf::Tensor* const> vectors, std::span<const std::uint64_t> outputs) {
  std::vector<float> values;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    std::vector<float> own(vectors[i] == nullptr ? 1 : vectors[i]->elements(), 1.0f);
    if (vectors[i] != nullptr) gguf::dequantize(*vectors[i], own);
    const std::uint64_t share = outputs.empty() ? 1 : outputs[i] / own.size();
    for (const float value : own) values.insert(values.end(), share, value);
  }
  values.resize(kernels::padded(static_cast<std::uint32_t>(values.size())), 0.0f);
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace skipstone::model
