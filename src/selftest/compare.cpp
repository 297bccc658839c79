#include "selftest/compare.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

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

}  // namespace skipstone::selftest
