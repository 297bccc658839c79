#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ref/operations.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::ResourceKind;

// silu(g) = g / (1 + exp(-g)). Vulkan allows exp 3 + 2|g| units of error, of which exp / (1 + exp) reaches the denominator; a sum, a
// quotient (2.5 units, for denominators up to 2^126: beyond, the result is below |g| 2^-126 whatever it is) and the product follow.
double tolerance_of(float gate, float up, float wanted) {
  const double g = std::abs(static_cast<double>(gate));
  const double share = gate < 0.0f ? 1.0 : 1.0 / (1.0 + std::exp(g));
  return ((3 + 2 * g) * share + 5) * epsilon * std::abs(static_cast<double>(wanted)) +
         (std::abs(static_cast<double>(up)) + 1) * (g + 1) * 4 * smallest;
}

std::string check(Bench& bench, std::uint32_t n, std::uint32_t rows, float size) {
  Random random(fmt::format("swiglu {} {}", n, rows));
  const std::uint32_t bucket = kernels::bucket_for(rows), stride = padded(n);
  std::vector<float> gate = random.floats(std::size_t{bucket} * n, -size, size);
  const std::vector<float> up = random.floats(gate.size(), -4.0f, 4.0f);
  constexpr float special[] = {0.0f, -0.0f, 1e-30f, 20.0f, -20.0f, 87.0f, -87.0f, 100.0f, -100.0f, 1e4f, -1e4f, 1e30f};
  std::copy_n(special, std::min<std::size_t>(std::size(special), gate.size()), gate.begin());
  bench.put({ResourceKind::gate_up}, strided(joined_rows(bucket, {&gate, &up}), 2 * n));
  bench.reserve({ResourceKind::activated}, std::size_t{bucket} * stride);
  bench.run(kernels::activate(bench.select(), kernels::Activation::gated_silu, n, bucket, "swiglu"));

  const auto got = bench.get<float>({ResourceKind::activated}, std::size_t{bucket} * stride);
  const auto words = bench.get<std::uint32_t>({ResourceKind::activated}, std::size_t{bucket} * stride);
  for (std::uint32_t row = 0; row < rows; ++row) {
    const auto at = std::size_t{row} * n;
    std::vector<float> wanted(n);
    ref::swiglu(std::span(gate).subspan(at, n), std::span(up).subspan(at, n), wanted);
    std::vector<double> tolerance(n);
    for (std::uint32_t i = 0; i < n; ++i) tolerance[i] = tolerance_of(gate[at + i], up[at + i], wanted[i]);
    std::string difference = differs(fmt::format("row {}", row), row_of(got, n, row), wanted, tolerance);
    if (difference.empty())
      difference = touched(fmt::format("padding of row {}", row), std::span(words).subspan(std::size_t{row} * stride + n, stride - n));
    if (!difference.empty()) return difference;
  }
  return "";
}

void add(std::vector<Case>& cases, std::uint32_t n, std::uint32_t rows, float size) {
  cases.push_back(
      {"swiglu", fmt::format("swiglu N={} rows={} |g|<{}", n, rows, size), [=](Bench& bench) { return check(bench, n, rows, size); }});
}

}  // namespace

std::vector<Case> swiglu_cases(const Scope& scope) {
  std::vector<Case> cases;
  add(cases, 172, 5, 10.0f);
  if (scope.depth == Depth::quick) return cases;
  add(cases, 1, 1, 1.0f);
  add(cases, 1000, 16, 100.0f);
  add(cases, 96, 200, 3.0f);
  return cases;
}

}  // namespace skipstone::selftest
