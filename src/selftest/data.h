// Pseudo-random operands. The same on every machine: a case's data depend on its seed alone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/gguf.h"
#include "kernels/operations.h"
#include "selftest/bench.h"

namespace skipstone::selftest {

class Random {
 public:
  explicit Random(std::string_view seed);
  std::uint32_t word();
  std::uint32_t below(std::uint32_t limit) { return word() % limit; }
  float between(float low, float high);
  std::vector<float> floats(std::size_t count, float low, float high);
  /// 0 .. count - 1 in random order.
  std::vector<std::uint32_t> permutation(std::uint32_t count);

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> block_{};
  std::uint32_t used_ = 4, counter_ = 0;
};

/// A weight matrix as a file has it, and the floats that it represents.
struct HostMatrix {
  std::vector<std::byte> bytes;
  gguf::Tensor tensor;         ///< its data are `bytes`
  std::vector<float> weights;  ///< n rows of k
  HostMatrix(gguf::Type type, std::uint32_t n, std::uint32_t k, Random& random);
  HostMatrix(const HostMatrix&) = delete;
  HostMatrix& operator=(const HostMatrix&) = delete;
};

/// `matrix` split into `parts` ranges of rows (of unequal length, multiples of `whole`) as tensor 0, uploaded in the device's layout.
kernels::Matrix place(Bench& bench, const HostMatrix& matrix, std::uint32_t parts, std::uint32_t interleave, std::uint32_t tensor = 0,
                      std::uint32_t whole = 1);

kernels::Matrix place(Bench& bench, const gguf::Tensor& matrix, std::uint32_t parts, std::uint32_t interleave, std::uint32_t tensor = 0,
                      std::uint32_t whole = 1);

/// Rows of n floats at a stride of padded(n); the padding is `filler`.
std::vector<float> strided(const std::vector<float>& rows, std::uint32_t n, float filler = 0.0f);
/// Row after row, the contents of each table; each holds `rows` rows of a length of its own.
std::vector<float> joined_rows(std::size_t rows, const std::vector<const std::vector<float>*>& tables);
/// Row `row` of such a buffer.
std::vector<float> row_of(const std::vector<float>& buffer, std::uint32_t n, std::uint32_t row);

/// "Q8_0" as "q8_0": the format's suffix in kernel names.
std::string suffix(gguf::Type type);

/// A short row that is no whole workgroup: an odd number of blocks (or super-blocks); of floats, one that ends within a block.
std::uint32_t odd_row(gguf::Type format);
/// `k`, or the next length that divides into the format's blocks.
std::uint32_t whole_blocks(gguf::Type format, std::uint32_t k);

/// Every format with kernels.
std::vector<gguf::Type> formats();

}  // namespace skipstone::selftest
