#include "selftest/matrix_check.h"

#include <fmt/format.h>

#include <cmath>

#include "ref/operations.h"
#include "selftest/compare.h"
#include "selftest/data.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::ResourceKind;

constexpr std::uint32_t bias_tensor = 1;

struct Operands {
  std::vector<float> x, bias, residual;  // rows of k, n floats, rows of n
};

Operands make_operands(const MatrixShape& shape, Random& random) {
  Operands operands;
  operands.x = random.floats(std::size_t{shape.rows} * shape.k, -2.0f, 2.0f);
  if (shape.bias) operands.bias = random.floats(shape.n, -3.0f, 3.0f);
  if (shape.residual) operands.residual = random.floats(std::size_t{shape.rows} * shape.n, -3.0f, 3.0f);
  return operands;
}

void put_rows(Bench& bench, const kernels::Resource& resource, std::vector<float> rows, std::uint32_t n, std::uint32_t bucket) {
  rows = strided(rows, n);
  rows.resize(std::size_t{bucket} * padded(n), 1.0f);  // padding rows hold old values
  bench.put(resource, rows);
}

// One row of the answer, and how far the device's may be from it. Any order of adding K products rounds each partial sum at most once per
// product and once per join of lanes, and the sums are at most sum |w x|: the standard bound (Higham, Accuracy and Stability of Numerical
// Algorithms, 2002, section 3.1) with as many roundings as there are products, lanes and operands of the epilogue.
void expected_row(const MatrixShape& shape, const std::vector<float>& weights, const Operands& operands, std::uint32_t row,
                  std::uint32_t lanes, std::vector<float>& wanted, std::vector<double>& tolerance) {
  const std::span<const float> x = std::span(operands.x).subspan(std::size_t{row} * shape.k, shape.k);
  wanted.resize(shape.n);
  tolerance.resize(shape.n);
  ref::multiply(weights, x, wanted);
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    double magnitude = 0.0, sum = static_cast<double>(wanted[i]);
    for (std::uint32_t j = 0; j < shape.k; ++j)
      magnitude += std::abs(static_cast<double>(weights[std::size_t{i} * shape.k + j]) * static_cast<double>(x[j]));
    if (shape.bias) {
      sum += static_cast<double>(operands.bias[i]);
      magnitude += std::abs(static_cast<double>(operands.bias[i]));
    }
    if (shape.residual) {
      const auto added = static_cast<double>(operands.residual[std::size_t{row} * shape.n + i]);
      sum += added;
      magnitude += std::abs(added);
    }
    wanted[i] = static_cast<float>(sum);
    tolerance[i] = (shape.k + lanes + 4.0) * epsilon * magnitude;
  }
}

}  // namespace

std::string MatrixShape::text() const {
  return fmt::format("{} N={} K={} rows={}{}{}{}", suffix(format), n, k, rows, bias ? " bias" : "", residual ? " residual" : "",
                     parts > 1 ? fmt::format(" parts={}", parts) : "");
}

std::string check_matrix(Bench& bench, const MatrixShape& shape, const kernels::Selector& select, bool tiled) {
  Random random("matrix " + shape.text());
  const HostMatrix matrix(shape.format, shape.n, shape.k, random);
  const Operands operands = make_operands(shape, random);
  const std::uint32_t bucket = kernels::bucket_for(shape.rows);
  const kernels::Resource x{ResourceKind::normed}, y{ResourceKind::scratch}, residual{ResourceKind::residual};

  const kernels::Matrix placed = place(bench, matrix, shape.parts);
  put_rows(bench, x, operands.x, shape.k, bucket);
  kernels::MatvecEpilogue epilogue;
  if (shape.bias) {
    bench.put({ResourceKind::weight, bias_tensor}, strided(operands.bias, shape.n));
    epilogue.bias_tensor = bias_tensor;
  }
  if (shape.residual) {
    put_rows(bench, residual, operands.residual, shape.n, bucket);
    epilogue.residual = residual;
  }
  const std::uint32_t stride = padded(shape.n);
  bench.reserve(y, std::size_t{bucket} * stride);
  bench.run(tiled ? kernels::matmul(select, placed, x, y, bucket, epilogue, "matmul")
                  : kernels::matvec(select, placed, x, y, bucket, epilogue, "matvec"));

  const auto got = bench.get<float>(y, std::size_t{bucket} * stride);
  const auto words = bench.get<std::uint32_t>(y, std::size_t{bucket} * stride);
  std::vector<float> wanted;
  std::vector<double> tolerance;
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    expected_row(shape, matrix.weights, operands, row, tiled ? 1 : select.matvec(bucket).k_lanes, wanted, tolerance);
    std::string difference = differs(fmt::format("row {}", row), row_of(got, shape.n, row), wanted, tolerance);
    if (difference.empty()) {
      difference =
          touched(fmt::format("padding of row {}", row), std::span(words).subspan(std::size_t{row} * stride + shape.n, stride - shape.n));
    }
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace skipstone::selftest
