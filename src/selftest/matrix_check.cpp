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

constexpr std::uint32_t bias_tensor = 1, norm_tensor = 2, factors_tensor = 3;
constexpr float norm_epsilon = 1e-5f;

struct Operands {
  std::vector<float> x, norm, bias, residual, factors;  // rows of k, k floats, n floats, rows of n, a float for each row of W
};

Operands make_operands(const MatrixShape& shape, Random& random) {
  Operands operands;
  operands.x = random.floats(std::size_t{shape.rows} * shape.k, -2.0f, 2.0f);
  if (shape.norm) operands.norm = random.floats(shape.k, -2.0f, 2.0f);
  if (shape.bias) operands.bias = random.floats(shape.n, -3.0f, 3.0f);
  if (shape.residual) operands.residual = random.floats(std::size_t{shape.rows} * shape.n, -3.0f, 3.0f);
  if (shape.factors) operands.factors = random.floats(std::size_t{shape.n} * (kernels::is_gated(shape.activation) ? 2 : 1), -2.0f, 2.0f);
  return operands;
}

void put_rows(Bench& bench, const kernels::Resource& resource, std::vector<float> rows, std::uint32_t n, std::uint32_t bucket) {
  rows = strided(rows, n);
  rows.resize(std::size_t{bucket} * padded(n), 1.0f);  // padding rows hold old values
  bench.put(resource, rows);
}

// One row of the answer, and how far the device's may be from it. Any order of adding K products rounds each partial sum at most once per
// product and once per join of lanes, and the sums are at most sum |w x|: the standard bound (Higham, Accuracy and Stability of Numerical
// Algorithms, 2002, section 3.1) with as many roundings as there are products, lanes and operands of the fusion.
struct Sum {
  double value = 0.0, bound = 0.0;
};

// The error from rounding both factors of a product to half precision (docs/numerics.md): weights to either side, and lost below the
// smallest normal half; x to the nearest, in the scale of its row.
double half_error(double w, double x, double largest) {
  const double weight = std::abs(w) < 0x1p-14 ? 1.0 : 0x1p-10;
  return std::abs(w * x) * (weight + 0x1p-11 + 0x1p-20) + std::abs(w) * largest * 0x1p-38;
}

Sum dot(std::span<const float> w, std::span<const float> x, double roundings, bool halves = false) {
  Sum sum;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double product = static_cast<double>(w[j]) * static_cast<double>(x[j]);
    sum.value += product;
    sum.bound += std::abs(product);
  }
  sum.bound *= roundings * epsilon;
  if (!halves) return sum;
  double largest = 0.0;
  for (const float value : x) largest = std::max(largest, std::abs(static_cast<double>(value)));
  for (std::size_t j = 0; j < x.size(); ++j) sum.bound += half_error(static_cast<double>(w[j]), static_cast<double>(x[j]), largest);
  return sum;
}

Sum silu(const Sum& x) {
  // exp and the quotient add some units of their own (swiglu_cases.cpp has them one by one).
  const double value = x.value / (1 + std::exp(-x.value));
  return {value, silu_slope * x.bound + (16 + 2 * std::abs(x.value)) * epsilon * std::abs(value)};
}

Sum gelu(const Sum& x) { return {ref::gelu(x.value), gelu_slope * x.bound + gelu_error(x.value)}; }

Sum gated(const Sum& gate, const Sum& up) {
  return {gate.value * up.value,
          gate.bound * (std::abs(up.value) + up.bound) + std::abs(gate.value) * up.bound + 4 * epsilon * std::abs(gate.value * up.value)};
}

// A sum with its bias after scale, softcap and activation, before a residual is added.
Sum finished(const MatrixShape& shape, Sum sum) {
  const double scale = static_cast<double>(shape.scale), cap = static_cast<double>(shape.softcap);
  sum = {scale * sum.value, scale * sum.bound + epsilon * std::abs(scale * sum.value)};
  if (cap > 0.0) sum = {cap * std::tanh(sum.value / cap), sum.bound + softcap_error(sum.value, cap)};
  return shape.activation == kernels::Activation::gelu ? gelu(sum) : sum;
}

void expected_row(const MatrixShape& shape, const std::vector<float>& weights, const Operands& operands, std::uint32_t row,
                  std::uint32_t lanes, bool halves, std::vector<float>& wanted, std::vector<double>& tolerance) {
  std::vector<float> x(operands.x.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * shape.k),
                       operands.x.begin() + static_cast<std::ptrdiff_t>(std::size_t{row + 1} * shape.k));
  double roundings = shape.k + lanes + 4.0;
  if (shape.norm) {
    const std::vector<float> raw = x;
    ref::rms_norm(raw, operands.norm, norm_epsilon, x);
    roundings += (shape.k + lanes) / 2.0 + 8.0;  // of the sum of squares under the root, and of both factors
  }
  wanted.resize(shape.n);
  tolerance.resize(shape.n);
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const auto row_of_weights = [&](std::size_t r) { return std::span(weights).subspan(r * shape.k, shape.k); };
    const auto product = [&](std::size_t r) {
      const Sum sum = dot(row_of_weights(r), x, roundings, halves);
      if (!shape.factors) return sum;
      const double factor = static_cast<double>(operands.factors[r]);
      return Sum{factor * sum.value, std::abs(factor) * sum.bound + epsilon * std::abs(factor * sum.value)};
    };
    Sum sum = product(i);
    if (kernels::is_gated(shape.activation)) {
      const Sum gate = shape.activation == kernels::Activation::gated_silu ? silu(sum) : gelu(sum);
      sum = gated(gate, product(std::size_t{shape.n} + i));
    }
    const auto add = [&](float value) {
      sum.value += static_cast<double>(value);
      sum.bound += roundings * epsilon * std::abs(static_cast<double>(value));
    };
    if (shape.bias) add(operands.bias[i]);
    sum = finished(shape, sum);
    if (shape.residual) add(operands.residual[std::size_t{row} * shape.n + i]);
    wanted[i] = static_cast<float>(sum.value);
    tolerance[i] = sum.bound + epsilon * std::abs(sum.value);
  }
}

}  // namespace

const char* to_string(Layout layout) {
  switch (layout) {
    case Layout::own:
      return "";
    case Layout::storage_buffers:
      return " storage buffers";
    case Layout::shared_k:
      return " lanes share K";
    case Layout::mixed:
      return " two lanes share K";
  }
  return "?";
}

kernels::Selector selector_for(const Bench& bench, Layout layout) {
  vk::Tuning tuning = bench.tuning();
  tuning.tiled_prefill = false;
  if (layout == Layout::storage_buffers) tuning.texels = false;
  if (layout == Layout::shared_k || layout == Layout::mixed) {
    tuning.matvec_k_lanes = layout == Layout::shared_k ? tuning.lanes : 2;
    tuning.matvec_row_lanes = tuning.lanes / tuning.matvec_k_lanes;
    if (layout == Layout::mixed) tuning.shared_tables = !tuning.shared_tables;
  }
  return kernels::Selector(bench.caps(), tuning);
}

std::vector<Layout> other_layouts(const vk::Tuning& tuning) {
  std::vector<Layout> layouts{Layout::mixed};
  if (tuning.matvec_k_lanes != tuning.lanes) layouts.push_back(Layout::shared_k);
  if (tuning.texels) layouts.push_back(Layout::storage_buffers);
  return layouts;
}

std::string MatrixShape::text() const {
  const char* const names[] = {"", " swiglu", " geglu", " gelu"};  // of Activation
  return fmt::format("{} N={} K={} rows={}{}{}{}{}{}{}{}{}", suffix(format), n, k, rows, norm ? " norm" : "",
                     names[static_cast<std::size_t>(activation)], bias ? " bias" : "", residual ? " residual" : "",
                     parts > 1 ? fmt::format(" parts={}", parts) : "", scale != 1.0f ? fmt::format(" scale={}", scale) : "",
                     softcap > 0.0f ? fmt::format(" cap={}", softcap) : "", factors ? " factors" : "");
}

std::string check_matrix(Bench& bench, const MatrixShape& shape, const kernels::Selector& select, bool tiled) {
  Random random("matrix " + shape.text());
  const HostMatrix matrix(shape.format, kernels::is_gated(shape.activation) ? 2 * shape.n : shape.n, shape.k, random);
  const Operands operands = make_operands(shape, random);
  const std::uint32_t bucket = kernels::bucket_for(shape.rows);
  const kernels::Resource x{ResourceKind::normed}, y{ResourceKind::scratch}, residual{ResourceKind::residual};

  kernels::Matrix placed = place(bench, matrix, shape.parts, select.interleave());
  put_rows(bench, x, operands.x, shape.k, bucket);
  kernels::MatvecFusion fusion;
  fusion.activation = shape.activation;
  fusion.scale = shape.scale;
  fusion.softcap = shape.softcap;
  if (shape.norm) {
    bench.put({ResourceKind::weight, norm_tensor}, strided(operands.norm, shape.k));
    fusion.norm = {norm_tensor, norm_epsilon};
  }
  if (shape.bias) {
    bench.put({ResourceKind::weight, bias_tensor}, strided(operands.bias, shape.n));
    fusion.bias_tensor = bias_tensor;
  }
  if (shape.factors) {
    bench.put({ResourceKind::weight, factors_tensor}, operands.factors);
    placed.factors = factors_tensor;
  }
  if (shape.residual) {
    put_rows(bench, residual, operands.residual, shape.n, bucket);
    fusion.residual = residual;
  }
  const std::uint32_t stride = padded(shape.n);
  bench.reserve(y, std::size_t{bucket} * stride);
  const bool halves = tiled && select.matmul(shape.format, shape.n, bucket).tier != vk::Tier::base;
  if (halves) reserve_half_rows(bench, shape.k, bucket);
  const auto dispatches = tiled ? kernels::matmul(select, placed, x, y, bucket, fusion, "matmul")
                                : kernels::matvec(select, placed, x, y, bucket, fusion, "matvec");
  bench.about(dispatches.back().kernel);
  bench.run(dispatches);

  const auto got = bench.get<float>(y, std::size_t{bucket} * stride);
  const auto words = bench.get<std::uint32_t>(y, std::size_t{bucket} * stride);
  if (tiled) {  // other products are run again by the invariance cases
    bench.reserve(y, std::size_t{bucket} * stride);
    bench.run(dispatches);
    const std::string difference = bits_differ("run again", bench.get<std::uint32_t>(y, std::size_t{bucket} * stride), words, "first");
    if (!difference.empty()) return difference;
  }
  std::vector<float> wanted;
  std::vector<double> tolerance;
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    expected_row(shape, matrix.weights, operands, row, tiled ? 1 : select.matvec(shape.format, shape.k, bucket).k_lanes, halves, wanted,
                 tolerance);
    const std::string difference = row_differs(got, words, shape.n, row, wanted, tolerance);
    if (!difference.empty()) return difference;
  }
  return "";
}

void reserve_half_rows(Bench& bench, std::uint32_t k, std::uint32_t rows) {
  bench.reserve({ResourceKind::half_rows}, std::uint64_t{rows} * HALF_ROWS_WORDS(padded(k) / 32) * 4);
}

}  // namespace skipstone::selftest
