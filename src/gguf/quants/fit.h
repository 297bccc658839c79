// Scales and minima of a group of weights that make the sum of squared rounding errors small.
#pragma once

#include <cmath>
#include <limits>
#include <span>

namespace skipstone::gguf {

/// Weights as scale * code - minimum, with whole codes from 0 to `most`.
struct Range {
  float scale = 0.0f, minimum = 0.0f;
};

/// minimum >= 0, as K-quants store it; groups of positive weights have 0.
Range fit_with_minimum(std::span<const float> weights, int most);

/// The scale for weights as scale * (code - middle), codes 0 .. 2 * middle - 1; negative where the largest magnitude is a positive weight,
/// for there is one code more below the middle than above it.
float fit_symmetric(std::span<const float> weights, int middle);

/// How weights become codes: the whole number next to (weight + minimum) * inverse + middle, kept within 0 .. most. `inverse` is 1 / scale
/// or 0.
struct Grid {
  float inverse, minimum, middle, most;

  int code(float weight) const {
    float code = (weight + minimum) * inverse + middle;
    code = code < 0.0f ? 0.0f : code;
    code = code > most ? most : code;
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): never negative; lround is slower and gives other codes for some weights.
    return static_cast<int>(code + 0.5f);
  }
};

/// 0 also for scales whose inverse would be infinite: codes are then all the same, as the weights nearly are.
inline float inverse_or_zero(float scale) { return std::fabs(scale) < std::numeric_limits<float>::min() ? 0.0f : 1.0f / scale; }

}  // namespace skipstone::gguf
