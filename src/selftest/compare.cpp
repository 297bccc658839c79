#include "selftest/compare.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "ref/operations.h"
#include "selftest/bench.h"
#include "selftest/data.h"

namespace skipstone::selftest {

std::string differs(std::string_view what, float got, double wanted, double tolerance) {
  const auto value = static_cast<double>(got);
  if (value == wanted || std::abs(value - wanted) <= tolerance) return "";
  return fmt::format("{}: got {}, wanted {} within {:.3g}", what, got, wanted, tolerance);
}

std::string differs(std::string_view what, std::span<const float> got, std::span<const float> wanted, std::span<const double> tolerance) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::string difference = differs("", got[i], static_cast<double>(wanted[i]), tolerance[i]);
    if (!difference.empty()) return fmt::format("{}, element {}{}", what, i, difference);
  }
  return "";
}

std::string bits_differ(std::string_view what, std::span<const float> got, std::span<const float> wanted, std::string_view other) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto a = std::bit_cast<std::uint32_t>(got[i]), b = std::bit_cast<std::uint32_t>(wanted[i]);
    if (a != b) return fmt::format("{}, element {}: got {} ({:08x}), {} {} ({:08x})", what, i, got[i], a, other, wanted[i], b);
  }
  return "";
}

std::string bits_differ(std::string_view what, std::span<const std::uint32_t> got, std::span<const std::uint32_t> wanted,
                        std::string_view other) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (got[i] != wanted[i]) return fmt::format("{}, word {}: got {:08x}, {} {:08x}", what, i, got[i], other, wanted[i]);
  }
  return "";
}

std::string touched(std::string_view what, std::span<const std::uint32_t> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != Bench::untouched) return fmt::format("{}, word {}: {:08x} was written where nothing may be", what, i, words[i]);
  }
  return "";
}

std::string row_differs(const std::vector<float>& buffer, const std::vector<std::uint32_t>& words, std::uint32_t n, std::uint32_t row,
                        std::span<const float> wanted, std::span<const double> tolerance) {
  const std::uint32_t stride = kernels::padded(n);
  const std::string difference = differs(fmt::format("row {}", row), row_of(buffer, n, row), wanted, tolerance);
  if (!difference.empty()) return difference;
  return touched(fmt::format("padding of row {}", row), std::span(words).subspan(std::size_t{row} * stride + n, stride - n));
}

namespace {

// tanh by s = exp(-2|x|), as (1 - s) / (1 + s), of an x that is off by `units` relative ones. exp: 3 + 2|2x| units by Vulkan's rules, and
// the part caused by its argument's error; the slope over s is 2 / (1 + s)^2. Then a difference, a sum and a quotient (2.5 units).
double tanh_error(double x, double units) {
  const double size = std::abs(x), s = std::exp(-2 * size);
  return (2 * s / ((1 + s) * (1 + s)) * (3 + 4 * size + 2 * size * units) + 4 * std::tanh(size)) * epsilon + smallest;
}

}  // namespace

double gelu_error(double x) {
  // The argument of tanh has two constants, a cube, two products and a sum of terms of one sign.
  const double inner = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return std::abs(x) / 2 * (tanh_error(inner, 5) + epsilon) + 2 * epsilon * std::abs(ref::gelu(x)) + smallest;
}

double softcap_error(double x, double cap) { return cap * (tanh_error(x / cap, 3) + epsilon) + smallest; }

}  // namespace skipstone::selftest
