#include "base/elementary.h"

#include <array>
#include <cmath>
#include <limits>

namespace skipstone {
namespace {

/// high + low, |low| at most half a unit in the last place of high (Dekker, Numerische Mathematik 18, 1971).
struct Pair {
  double high, low;
};

/// a + b exactly, for |a| >= |b|.
Pair ordered_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// a + b exactly (Knuth, The Art of Computer Programming, volume 2, section 4.2.2).
Pair exact_sum(double a, double b) {
  const double sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

/// The upper 26 bits and the rest (Veltkamp); not for |a| above 2^996.
Pair halves(double a) {
  const double scaled = a * 134217729.0, high = scaled - (scaled - a);  // 2^27 + 1
  return {high, a - high};
}

/// a * b exactly.
Pair exact_product(double a, double b) {
  const double product = a * b;
  const Pair x = halves(a), y = halves(b);
  return {product, ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low};
}

Pair sum(Pair a, Pair b) {
  const Pair high = exact_sum(a.high, b.high);
  return ordered_sum(high.high, high.low + a.low + b.low);
}

Pair product(Pair a, Pair b) {
  const Pair high = exact_product(a.high, b.high);
  return ordered_sum(high.high, high.low + (a.high * b.low + a.low * b.high));
}

Pair quotient(Pair a, Pair b) {
  const double first = a.high / b.high;
  const Pair rest = sum(a, product({-first, 0.0}, b));
  return ordered_sum(first, rest.high / b.high);
}

constexpr Pair ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

/// frexp with the mantissa in [sqrt(1/2), sqrt(2)).
double mantissa_around_1(double x, int& exponent) {
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0x1.6a09e667f3bcdp-1) {
    mantissa *= 2.0;
    --exponent;
  }
  return mantissa;
}

/// Natural logarithm, relative error below 2^-95: 2 artanh((m - 1) / (m + 1)) by its series.
Pair exact_log(double x) {
  int exponent = 0;
  const double mantissa = mantissa_around_1(x, exponent);
  const Pair s = quotient(exact_sum(mantissa, -1.0), exact_sum(mantissa, 1.0));
  const Pair z = product(s, s);
  Pair series{0.0, 0.0};
  for (int odd = 41; odd >= 1; odd -= 2) series = sum(product(series, z), quotient({1.0, 0.0}, {static_cast<double>(odd), 0.0}));
  const Pair fraction = product({2.0 * s.high, 2.0 * s.low}, series);
  return sum(product({static_cast<double>(exponent), 0.0}, ln2), fraction);
}

/// exp of x from -746 to 710.
double exp_of(Pair x) {
  const double k = std::nearbyint(x.high / ln2.high);
  const Pair r = sum(x, product({-k, 0.0}, ln2));
  Pair series{1.0, 0.0};
  for (int n = 22; n >= 1; --n) series = sum({1.0, 0.0}, product(series, quotient(r, {static_cast<double>(n), 0.0})));
  return std::ldexp(series.high + series.low, static_cast<int>(k));
}

}  // namespace

double log_of_positive(double x) {
  int exponent = 0;
  const double mantissa = mantissa_around_1(x, exponent);
  // ln m = 2 artanh(s) with s = (m - 1) / (m + 1), |s| <= 0.172; the first term left out is below 1e-18 of the result.
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double z = s * s;
  double sum = 0.0;
  for (int odd = 23; odd >= 3; odd -= 2) sum = sum * z + 1.0 / static_cast<double>(odd);
  const double fraction = 2.0 * s + 2.0 * s * (z * sum);
  const double k = static_cast<double>(exponent);
  return k * ln2_high + (k * ln2_low + fraction);
}

double power(double base, double exponent) {
  const Pair log = exact_log(base);
  const double about = log.high * exponent;
  if (about > 710.0) return std::numeric_limits<double>::infinity();
  return about < -746.0 ? 0.0 : exp_of(product(log, {exponent, 0.0}));
}

CosSin cos_sin(double angle) {
  // pi / 2 in three parts (Cody and Waite, Software Manual for the Elementary Functions, 1980); the first two have 27 bits, so that k times
  // them is exact.
  constexpr double part_1 = 0x1.921fb54p+0, part_2 = 0x1.10b461p-30, part_3 = 0x1.a62633145c06ep-58;
  constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
  const double k = std::nearbyint(angle * two_over_pi);
  const Pair first = exact_sum(angle - k * part_1, -k * part_2);
  const Pair r = ordered_sum(first.high, first.low - k * part_3);  // |r| <= pi / 4
  const Pair square = exact_product(r.high, r.high);
  const double z = square.high;
  // Taylor's series; the first terms left out are below 1e-18.
  double odd = -1.0 / 1307674368000.0;  // 15!
  for (const double factorial : std::array{6227020800.0, -39916800.0, 362880.0, -5040.0, 120.0, -6.0}) odd = odd * z + 1.0 / factorial;
  double even = 1.0 / 20922789888000.0;  // 16!
  for (const double factorial : std::array{-87178291200.0, 479001600.0, -3628800.0, 40320.0, -720.0, 24.0})
    even = even * z + 1.0 / factorial;
  const double sin = r.high + (r.low * (1.0 - 0.5 * z) + r.high * z * odd);
  const Pair half = exact_sum(1.0, -0.5 * z);
  const double cos = half.high + (half.low - 0.5 * square.low - r.high * r.low + z * z * even);
  switch (static_cast<std::int64_t>(k) & 3) {
    case 0:
      return {cos, sin};
    case 1:
      return {-sin, cos};
    case 2:
      return {-cos, -sin};
    default:
      return {sin, -cos};
  }
}

}  // namespace skipstone
