// Elementary functions from IEEE 754 basic operations alone. The C library's differ in the last bit from one platform to the next, and
// one bit can turn a sampled token into another; these give the same bits wherever doubles are IEEE 754, round to nearest and are not
// contracted (our targets are compiled so).
#pragma once

#include <bit>
#include <cstdint>

namespace skipstone {

// ln 2 in two parts; the first has 21 trailing zero bits, so that k * ln2_high is exact for every exponent k.
inline constexpr double ln2_high = 0x1.62e42feep-1;
inline constexpr double ln2_low = 0x1.a39ef35793c76p-33;
inline constexpr double least_exponent = -708.0;  ///< below it exp() is not a normal number

/// exp(x) for -708 <= x <= 0, within 1 ulp. A loop over it can be vectorised.
inline double exp_without_branches(double x) {
  constexpr double one_over_ln2 = 0x1.71547652b82fep+0;
  constexpr double to_integer = 0x1.8p52;  // adding it leaves the nearest integer in the lowest bits
  const double shifted = x * one_over_ln2 + to_integer;
  const double k = shifted - to_integer;
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
  return sum * std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023u) << 52);
}

/// exp(x) for x <= 0, within 1 ulp; 0 below -708 and for NaN.
inline double exp_of_nonpositive(double x) { return x >= least_exponent ? exp_without_branches(x) : 0.0; }

/// Natural logarithm of a positive, normal, finite x, within 2 ulp.
double log_of_positive(double x);

/// base to the power of `exponent`, base positive, both finite; within 0.51 ulp, and correctly rounded in all but one case of a hundred
/// thousand.
double power(double base, double exponent);

struct CosSin {
  double cos, sin;
};

/// Within 1 ulp of 1 (2.3e-16, absolute) for |angle| up to 2^25 radians.
CosSin cos_sin(double angle);

}  // namespace skipstone
