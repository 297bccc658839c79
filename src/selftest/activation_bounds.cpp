#include "selftest/activation_bounds.h"

#include <cmath>
#include <numbers>

#include "ref/operations.h"
#include "selftest/compare.h"

namespace skipstone::selftest {
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
