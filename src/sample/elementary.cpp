#include "sample/elementary.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace skipstone::sample {
namespace {

// ln 2 in two parts; the first has 21 trailing zero bits, so that k * ln2_high is exact for every exponent k.
constexpr double ln2_high = 0x1.62e42feep-1;
constexpr double ln2_low = 0x1.a39ef35793c76p-33;
constexpr double one_over_ln2 = 0x1.71547652b82fep+0;
constexpr double smallest_normal_exponent = -1022.0;

}  // namespace

double exp_of_nonpositive(double x) {
  if (!(x >= -745.2)) return 0.0;  // also NaN
  const double k = std::floor(x * one_over_ln2 + 0.5);
  const double r = (x - k * ln2_high) - k * ln2_low;  // |r| <= ln(2) / 2
  // Taylor's series; the first term left out is below 4e-18 of the result.
  double sum = 1.0 / 6227020800.0;
  sum = sum * r + 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 0.5;
  sum = 1.0 + (r + r * r * sum);
  if (k < smallest_normal_exponent) return std::ldexp(sum, static_cast<int>(k));
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023) << 52);
}

double log_of_positive(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // in [0.5, 1)
  if (mantissa < 0x1.6a09e667f3bcdp-1) {       // sqrt(1/2): keeps the mantissa around 1
    mantissa *= 2.0;
    --exponent;
  }
  // ln m = 2 artanh(s) with s = (m - 1) / (m + 1), |s| <= 0.172; the first term left out is below 1e-18 of the result.
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double z = s * s;
  double sum = 0.0;
  for (int odd = 23; odd >= 3; odd -= 2) sum = sum * z + 1.0 / static_cast<double>(odd);
  const double fraction = 2.0 * s + 2.0 * s * (z * sum);
  const double k = static_cast<double>(exponent);
  return k * ln2_high + (k * ln2_low + fraction);
}

}  // namespace skipstone::sample
