#include <algorithm>
#include <array>
#include <cmath>

#include "gguf/quants/blocks.h"

namespace skipstone::gguf {
namespace {

// The error of a group is a piecewise quadratic function of its scale with many local minima: given the codes, the best scale is a least
// squares problem; given the scale, the best codes are the nearest. Alternating between the two (Lloyd's method, IEEE Trans. Inf. Theory
// 28, 1982) finds the minimum of a piece, and several starts find a good piece. Starts stretch the range so that its ends fall beyond
// the outermost codes (rounding errors, no clipping) or short of them (a finer scale, outermost weights clipped).
constexpr int start_count = 6, refinement_count = 1;
constexpr float first_stretch = -1.0f, stretch_step = 0.4f;

// Sums are kept in lanes, which compilers turn into vector instructions.
constexpr std::size_t lane_count = 8;
using Lanes = std::array<float, lane_count>;

double total(const Lanes& lanes) {
  double sum = 0.0;
  for (const float lane : lanes) sum += static_cast<double>(lane);
  return sum;
}

struct Sums {
  double codes, squares, products;  // of code - middle, its square, and its product with the weight, each times the importance
};

template <typename Importance>
Sums sums_of_codes(std::span<const float> weights, const Grid& grid, Importance importance) {
  Lanes codes{}, squares{}, products{};
  for (std::size_t i = 0; i < weights.size(); i += lane_count) {
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
      const float weight = weights[i + lane], code = static_cast<float>(grid.code(weight)) - grid.middle;
      const float important = importance[i + lane] * code;
      codes[lane] += important;
      squares[lane] += important * code;
      products[lane] += important * weight;
    }
  }
  return {total(codes), total(squares), total(products)};
}

struct Fit {
  Range range;
  double gain = -1.0;  // by how much the sum of squares is less than with all weights zero
};

Fit least_squares(const Sums& sums, double n, double weight_sum) {
  const auto [c, cc, cx] = sums;
  const double determinant = n * cc - c * c;
  double scale = determinant > 0.0 ? (n * cx - c * weight_sum) / determinant : 0.0;
  double minimum = (scale * c - weight_sum) / n;
  if (minimum < 0.0) {
    minimum = 0.0;
    scale = cc > 0.0 ? cx / cc : 0.0;
  }
  if (!(scale > 0.0)) return {};
  const double change =
      scale * scale * cc + n * minimum * minimum - 2.0 * scale * minimum * c - 2.0 * scale * cx + 2.0 * minimum * weight_sum;
  return {{static_cast<float>(scale), static_cast<float>(minimum)}, -change};
}

}  // namespace

template <typename Importance>
Range fit_with_minimum(std::span<const float> weights, int most, Importance importance) {
  const auto [lowest, highest] = std::minmax_element(weights.begin(), weights.end());
  const float low = std::min(0.0f, *lowest), span = *highest - low, codes_most = static_cast<float>(most);
  if (!(span > 0.0f)) return {0.0f, -low};
  double count = 0.0, sum = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    count += static_cast<double>(importance[i]);
    sum += static_cast<double>(importance[i]) * static_cast<double>(weights[i]);
  }
  Fit best{{span / codes_most, -low}, -1.0};
  for (int start = 0; start < start_count; ++start) {
    const float stretch = first_stretch + stretch_step * static_cast<float>(start);
    // The ends of the range move alike on both sides; a minimum of zero stays.
    Range range{span / (codes_most + stretch), -low};
    if (low < 0.0f) range.minimum -= 0.5f * stretch * range.scale;
    for (int pass = 0; pass <= refinement_count; ++pass) {
      const Grid grid{inverse_or_zero(range.scale), range.minimum, 0.0f, codes_most};
      const Fit fit = least_squares(sums_of_codes(weights, grid, importance), count, sum);
      if (fit.gain > best.gain) best = fit;
      if (!(fit.range.scale > 0.0f)) break;
      range = fit.range;
    }
  }
  return best.range;
}

template <typename Importance>
float fit_symmetric(std::span<const float> weights, int middle, Importance importance) {
  const float largest = *std::max_element(weights.begin(), weights.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
  if (largest == 0.0f) return 0.0f;
  const auto half = static_cast<float>(middle), most = 2.0f * half - 1.0f;
  float best_scale = -largest / half;
  double best_gain = -1.0;
  for (int start = 0; start < start_count; ++start) {
    float scale = -largest / (half + 0.5f * (first_stretch + stretch_step * static_cast<float>(start)));
    for (int pass = 0; pass <= refinement_count; ++pass) {
      const Sums s = sums_of_codes(weights, {inverse_or_zero(scale), 0.0f, half, most}, importance);
      if (!(s.squares > 0.0)) break;
      const double gain = s.products * s.products / s.squares;
      scale = static_cast<float>(s.products / s.squares);
      if (gain > best_gain) {
        best_gain = gain;
        best_scale = scale;
      }
    }
  }
  return best_scale;
}

template Range fit_with_minimum(std::span<const float>, int, AlikeImportance);
template Range fit_with_minimum(std::span<const float>, int, const float*);
template float fit_symmetric(std::span<const float>, int, AlikeImportance);
template float fit_symmetric(std::span<const float>, int, const float*);

}  // namespace skipstone::gguf
