#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ref/operations.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"

namespace skipstone::selftest {
namespace {

using kernels::Activation;
using kernels::padded;
using kernels::ResourceKind;

// silu(g) = g / (1 + exp(-g)). Vulkan allows exp 3 + 2|g| units of error, of which exp / (1 + exp) reaches the denominator; a sum, a
// quotient (2.5 units, for denominators up to 2^126: beyond, the result is below |g| 2^-126 whatever it is) and the product follow.
double swiglu_tolerance(float gate, float up, float wanted) {
  const double g = std::abs(static_cast<double>(gate));
  const double share = gate < 0.0f ? 1.0 : 1.0 / (1.0 + std::exp(g));
  return ((3 + 2 * g) * share + 5) * epsilon * std::abs(static_cast<double>(wanted)) +
         (std::abs(static_cast<double>(up)) + 1) * (g + 1) * 4 * smallest;
}

double tolerance_of(Activation activation, float gate, float up, float wanted) {
  if (activation == Activation::gated_silu) return swiglu_tolerance(gate, up, wanted);
  // At most exp(1.702 * 7) is added to 1, the argument rounds once more, and up + 1 is as large as its error where they cancel.
  if (activation == Activation::clamped_silu) {
    const double g = std::abs(static_cast<double>(gate)), share = gate < 0.0f ? 1.0 : 1.0 / (1.0 + std::exp(1.702 * std::min(g, 7.0)));
    return ((3 + 4 * 1.702 * g) * share + 6) * epsilon * std::abs(static_cast<double>(wanted)) + (std::min(g, 7.0) + 1) * epsilon +
           (g + 1) * 32 * smallest;
  }
  if (activation == Activation::squared_relu) return epsilon * std::abs(static_cast<double>(wanted)) + smallest;
  const double error = gelu_error(static_cast<double>(gate));
  if (activation == Activation::gelu) return error + smallest;
  return error * std::abs(static_cast<double>(up)) + epsilon * std::abs(static_cast<double>(wanted)) + smallest;
}

void expected_row(Activation activation, std::span<const float> gate, std::span<const float> up, std::vector<float>& wanted) {
  if (activation == Activation::gated_silu) return ref::swiglu(gate, up, wanted);
  if (activation == Activation::clamped_silu) return ref::clamped_swiglu(gate, up, wanted);
  if (activation == Activation::gated_gelu) return ref::geglu(gate, up, wanted);
  if (activation == Activation::squared_relu) {
    std::ranges::transform(gate, wanted.begin(), [](float x) { return std::max(x, 0.0f) * std::max(x, 0.0f); });
    return;
  }
  for (std::size_t i = 0; i < gate.size(); ++i) wanted[i] = static_cast<float>(ref::gelu(static_cast<double>(gate[i])));
}

std::string check(Bench& bench, Activation activation, std::uint32_t n, std::uint32_t rows, float size) {
  Random random(fmt::format("swiglu {} {}", n, rows));
  const std::uint32_t bucket = kernels::bucket_for(rows), stride = padded(n);
  std::vector<float> gate = random.floats(std::size_t{bucket} * n, -size, size);
  const std::vector<float> up = random.floats(gate.size(), -4.0f, 4.0f);
  constexpr float special[] = {0.0f, -0.0f, 1e-30f, 20.0f, -20.0f, 87.0f, -87.0f, 100.0f, -100.0f, 1e4f, -1e4f, 1e30f};
  std::copy_n(special, std::min<std::size_t>(std::size(special), gate.size()), gate.begin());
  if (kernels::is_gated(activation)) {
    bench.put({ResourceKind::gate_up}, strided(joined_rows(bucket, {&gate, &up}), 2 * n));
  } else {
    bench.put({ResourceKind::gate_up}, strided(gate, n));
  }
  bench.reserve({ResourceKind::activated}, std::size_t{bucket} * stride);
  bench.run(kernels::activate(bench.select(), activation, n, bucket, "swiglu"));

  const auto got = bench.get<float>({ResourceKind::activated}, std::size_t{bucket} * stride);
  const auto words = bench.get<std::uint32_t>({ResourceKind::activated}, std::size_t{bucket} * stride);
  for (std::uint32_t row = 0; row < rows; ++row) {
    const auto at = std::size_t{row} * n;
    std::vector<float> wanted(n);
    expected_row(activation, std::span(gate).subspan(at, n), std::span(up).subspan(at, n), wanted);
    std::vector<double> tolerance(n);
    for (std::uint32_t i = 0; i < n; ++i) tolerance[i] = tolerance_of(activation, gate[at + i], up[at + i], wanted[i]);
    const std::string difference = row_differs(got, words, n, row, wanted, tolerance);
    if (!difference.empty()) return difference;
  }
  return "";
}

const char* to_string(Activation activation) {
  return activation == Activation::gelu           ? " gelu"
         : activation == Activation::gated_gelu   ? " gelu gate"
         : activation == Activation::squared_relu ? " squared relu"
         : activation == Activation::clamped_silu ? " clamped"
                                                  : "";
}

void add(std::vector<Case>& cases, Activation activation, std::uint32_t n, std::uint32_t rows, float size) {
  cases.push_back({"swiglu", fmt::format("swiglu{} N={} rows={} |g|<{}", to_string(activation), n, rows, size),
                   [=](Bench& bench) { return check(bench, activation, n, rows, size); }});
}

}  // namespace

std::vector<Case> swiglu_cases(const Scope& scope) {
  std::vector<Case> cases;
  for (const Activation activation :
       {Activation::gated_silu, Activation::gated_gelu, Activation::gelu, Activation::squared_relu, Activation::clamped_silu}) {
    add(cases, activation, 172, 5, 10.0f);
    if (scope.depth == Depth::quick) continue;
    add(cases, activation, 1, 1, 1.0f);
    add(cases, activation, 1000, 16, 100.0f);
    add(cases, activation, 96, 200, 3.0f);
  }
  return cases;
}

}  // namespace skipstone::selftest
