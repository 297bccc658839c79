// Pearson's chi-square for tests: does a sample come from a distribution, or two samples from the same one?
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace skipstone::stats_test {

struct ChiSquare {
  double statistic = 0;
  std::size_t freedom = 0;
  /// How many standard deviations the statistic lies above what chance gives: Wilson and Hilferty's approximation (1931). Above 5 chance
  /// has less than one part in three million.
  double deviation() const {
    if (freedom == 0) return 0;
    const double n = static_cast<double>(freedom), spread = 2.0 / (9.0 * n);
    return (std::cbrt(statistic / n) - (1.0 - spread)) / std::sqrt(spread);
  }
};

/// Cells that less than five of a sample are expected in go together into one (Cochran 1952).
inline ChiSquare against(std::span<const std::uint64_t> counts, std::span<const double> p) {
  double total = 0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  ChiSquare result;
  double rare_count = 0, rare_expected = 0;
  std::size_t cells = 0;
  const auto add = [&](double count, double expected) {
    result.statistic += (count - expected) * (count - expected) / expected;
    ++cells;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = p[i] * total, count = static_cast<double>(counts[i]);
    if (expected >= 5) {
      add(count, expected);
    } else {
      rare_count += count;
      rare_expected += expected;
    }
  }
  if (rare_expected >= 1e-9) add(rare_count, rare_expected);
  // What cannot happen and did is no chance.
  if (rare_expected < 1e-9 && rare_count > 0) result.statistic += 1e9;
  result.freedom = cells > 0 ? cells - 1 : 0;
  return result;
}

/// Half the sum of what the sample's shares differ from `p`.
inline double total_variation(std::span<const std::uint64_t> counts, std::span<const double> p) {
  double total = 0, sum = 0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  for (std::size_t i = 0; i < counts.size(); ++i) sum += std::abs(static_cast<double>(counts[i]) / total - p[i]);
  return sum / 2;
}

/// What total_variation() is on average for a sample of `draws` from `p` itself: each cell's mean absolute deviation is
/// sqrt(2 p (1 - p) / (pi n)) where np is not small, and at most 2p.
inline double expected_variation(std::span<const double> p, double draws) {
  double sum = 0;
  for (const double share : p) sum += std::min(2 * share, std::sqrt(2 * share * (1 - share) / (3.14159265358979 * draws)));
  return sum / 2;
}

/// Two samples of the same size over the same cells.
inline ChiSquare two_samples(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  ChiSquare result;
  double rare_a = 0, rare_b = 0;
  std::size_t cells = 0;
  const auto add = [&](double x, double y) {
    if (x + y == 0) return;
    result.statistic += (x - y) * (x - y) / (x + y);
    ++cells;
  };
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (x + y >= 10) {
      add(x, y);
    } else {
      rare_a += x;
      rare_b += y;
    }
  }
  add(rare_a, rare_b);
  result.freedom = cells > 0 ? cells - 1 : 0;
  return result;
}

}  // namespace skipstone::stats_test
