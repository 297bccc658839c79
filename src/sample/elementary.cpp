#include "sample/elementary.h"

#include <cmath>

namespace skipstone::sample {

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
