#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "selftest/compare.h"
#include "selftest/data.h"
#include "selftest/matrix_check.h"
#include "selftest/rows.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::ResourceKind;

constexpr std::uint32_t outputs = 70;  // more than one tile's, and not whole ones
constexpr std::uint32_t whole_columns = 32;

enum class Neighbours : std::uint32_t { zeros, numbers, huge, infinities, nans, count };

std::vector<float> neighbour(Neighbours kind, std::uint32_t k, Random& random) {
  switch (kind) {
    case Neighbours::numbers:
      return random.floats(k, -2.0f, 2.0f);
    case Neighbours::huge:
      return random.floats(k, -3e38f, 3e38f);
    case Neighbours::infinities:
      return std::vector<float>(k, std::numeric_limits<float>::infinity());
    case Neighbours::nans:
      return std::vector<float>(k, std::numeric_limits<float>::quiet_NaN());
    case Neighbours::zeros:
    case Neighbours::count:
      break;
  }
  return std::vector<float>(k, 0.0f);
}

/// A matrix on the device, and the products of one row of x.
class Columns {
 public:
  Columns(Bench& bench, gguf::Type format)
      : bench_(bench),
        random_("matrix columns " + suffix(format)),
        k_(whole_blocks(format, 352)),
        matrix_(format, outputs, k_, random_),
        placed_(place(bench, matrix_, 1, bench.select().interleave())),
        x_(random_.floats(k_, -2.0f, 2.0f)) {
    reserve_half_rows(bench, k_, whole_columns);
  }

  /// The products of x in row `at` of `rows`.
  Words run(std::uint32_t rows, std::uint32_t at, Neighbours beside) {
    std::vector<float> all;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const std::vector<float> values = row == at ? x_ : neighbour(beside, k_, random_);
      all.insert(all.end(), values.begin(), values.end());
    }
    const kernels::Resource in{ResourceKind::normed}, out{ResourceKind::scratch};
    bench_.put(in, strided(all, k_));
    bench_.reserve(out, std::size_t{whole_columns} * padded(outputs));
    const auto dispatches = kernels::matrix_product(bench_.select(), placed_, in, out, rows, {}, "matrix_product");
    bench_.about(dispatches.back().kernel);
    bench_.run(dispatches);
    return read_rows(bench_, out, rows, outputs, padded(outputs))[at];
  }

  /// The first product that is too far from a sum of doubles; factors are rounded to halves.
  std::string differs_from_reference(const Words& products) const {
    for (std::uint32_t i = 0; i < outputs; ++i) {
      double wanted = 0.0, size = 0.0;
      for (std::uint32_t j = 0; j < k_; ++j) {
        const double product = static_cast<double>(matrix_.weights[std::size_t{i} * k_ + j]) * static_cast<double>(x_[j]);
        wanted += product;
        size += std::abs(product);
      }
      float got = 0.0f;
      std::memcpy(&got, &products[i], sizeof(got));
      if (!(std::abs(static_cast<double>(got) - wanted) <= size * 0x1p-9))
        return fmt::format("output {}: got {}, wanted {}", i, got, wanted);
    }
    return "";
  }

 private:
  Bench& bench_;
  Random random_;
  std::uint32_t k_;
  HostMatrix matrix_;
  kernels::Matrix placed_;
  std::vector<float> x_;
};

}  // namespace

std::string check_matrix_columns(Bench& bench, gguf::Type format, std::uint32_t most) {
  Columns columns(bench, format);
  constexpr auto kinds = static_cast<std::uint32_t>(Neighbours::count);
  columns.run(whole_columns, 0, Neighbours::zeros);  // nothing older is left past the row
  const Words alone = columns.run(1, 0, Neighbours::zeros);
  std::string difference = columns.differs_from_reference(alone);
  for (std::uint32_t rows = 1; rows <= most && difference.empty(); ++rows) {
    for (std::uint32_t at = 0; at < rows && difference.empty(); ++at) {
      const auto beside = static_cast<Neighbours>((rows + at) % kinds),
                 before = static_cast<Neighbours>((rows + at + 1 + rows / kinds) % kinds);
      columns.run(whole_columns, 0, before);
      difference = bits_differ(fmt::format("row {} of {}", at, rows), columns.run(rows, at, beside), alone, "alone");
    }
  }
  return difference;
}

}  // namespace skipstone::selftest
