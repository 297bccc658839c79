// K-quants: 256 weights with a scale (and a minimum) for each group of 16 or 32, themselves whole numbers times a binary16 of the block.
#include <algorithm>
#include <cmath>

#include "gguf/quants/blocks.h"

namespace skipstone::gguf {
namespace {

Grid grid_of(const SuperFormat& f, float scale, float minimum) {
  return {inverse_or_zero(scale), minimum, static_cast<float>(f.middle()), static_cast<float>(f.most())};
}

/// A group of weights and what their errors count.
template <typename Importance>
struct Group {
  std::span<const float> weights;
  Importance importance;
};

/// The sum of squared errors of a group at a given scale and minimum, each times its importance.
template <typename Importance>
float error_of(const Group<Importance>& group, const SuperFormat& f, float scale, float minimum) {
  constexpr std::size_t lanes = 8;  // that compilers turn into vector instructions
  const Grid grid = grid_of(f, scale, minimum);
  std::array<float, lanes> errors{};
  for (std::size_t i = 0; i < group.weights.size(); i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const float weight = group.weights[i + lane], code = static_cast<float>(grid.code(weight)) - grid.middle;
      const float difference = scale * code - minimum - weight;
      errors[lane] += group.importance[i + lane] * (difference * difference);
    }
  }
  float sum = 0.0f;
  for (const float error : errors) sum += error;
  return sum;
}

/// The whole numbers next to the wanted scale and minimum, all neighbours tried: the rounding of one can make up for that of the other.
template <typename Importance>
void choose_scales(const Group<Importance>& group, const SuperFormat& f, const Range& wanted, float d, float dmin, std::int8_t& scale,
                   std::uint8_t& minimum) {
  const auto near = [](float value, float inverse, int from, int to) {
    return std::clamp(static_cast<int>(std::lround(std::clamp(value * inverse, -1000.0f, 1000.0f))), from, to);
  };
  const int centre = near(wanted.scale, inverse_or_zero(d), f.scale_from, f.scale_to);
  const int low = f.minimum ? near(wanted.minimum, inverse_or_zero(dmin), 0, f.scale_to) : 0;
  float least = -1.0f;
  for (int s = std::max(centre - 1, f.scale_from); s <= std::min(centre + 1, f.scale_to); ++s) {
    for (int m = std::max(low - 1, 0); m <= (f.minimum ? std::min(low + 1, f.scale_to) : 0); ++m) {
      const float error = error_of(group, f, d * static_cast<float>(s), dmin * static_cast<float>(m));
      if (least >= 0.0f && !(error < least)) continue;
      least = error;
      scale = static_cast<std::int8_t>(s);
      minimum = static_cast<std::uint8_t>(m);
    }
  }
}

void choose_codes(std::span<const float> weights, const SuperFormat& f, float d, float dmin, SuperBlock& s) {
  for (std::size_t g = 0; g < f.groups(); ++g) {
    const float scale = d * static_cast<float>(s.scales[g]), minimum = dmin * static_cast<float>(s.minima[g]);
    const Grid grid = grid_of(f, scale, minimum);
    for (std::size_t i = g * f.group; i < (g + 1) * f.group; ++i) s.codes[i] = static_cast<std::uint8_t>(grid.code(weights[i]));
  }
}

/// The block's scale such that the widest group's is the outermost whole number.
std::uint16_t block_scale(const std::array<Range, 16>& wanted, const SuperFormat& f) {
  float widest = 0.0f;
  for (const Range& each : wanted) {
    if (std::fabs(each.scale) > std::fabs(widest)) widest = each.scale;
  }
  return float_to_half(widest / static_cast<float>(f.minimum ? f.scale_to : f.scale_from));
}

}  // namespace

void expand_super_block(const SuperFormat& f, const std::byte* block, float* out) {
  const SuperBlock s = f.read(block);
  const float d = half_to_float(s.d), dmin = half_to_float(s.dmin);
  for (std::size_t g = 0; g < f.groups(); ++g) {
    // Both products are exact in binary32 (11 bits of d, 7 of a scale, 6 of a code), so the difference is rounded once in any order.
    const float scale = d * static_cast<float>(s.scales[g]), minimum = dmin * static_cast<float>(s.minima[g]);
    for (std::size_t i = g * f.group; i < (g + 1) * f.group; ++i) {
      const float value = scale * static_cast<float>(s.codes[i] - f.middle());
      out[i] = f.minimum ? value - minimum : value;
    }
  }
}

namespace {

template <typename Importance>
void round_with(const SuperFormat& f, const float* weights, std::byte* block, Importance importance) {
  const std::span<const float> all(weights, super_block_weights);
  const auto group_of = [&](std::size_t g) { return Group<Importance>{all.subspan(g * f.group, f.group), importance + g * f.group}; };
  std::array<Range, 16> wanted{};
  float deepest = 0.0f;
  for (std::size_t g = 0; g < f.groups(); ++g) {
    const auto group = group_of(g);
    wanted[g] = f.minimum ? fit_with_minimum(group.weights, f.most(), group.importance)
                          : Range{fit_symmetric(group.weights, f.middle(), group.importance), 0.0f};
    deepest = std::max(deepest, wanted[g].minimum);
  }
  SuperBlock s;
  s.d = block_scale(wanted, f);
  s.dmin = float_to_half(deepest / static_cast<float>(f.scale_to));
  const float d = half_to_float(s.d), dmin = half_to_float(s.dmin);
  for (std::size_t g = 0; g < f.groups(); ++g) {
    choose_scales(group_of(g), f, wanted[g], d, dmin, s.scales[g], s.minima[g]);
  }
  choose_codes(all, f, d, dmin, s);
  f.write(s, block);
}

}  // namespace

void round_super_block(const SuperFormat& f, const float* weights, std::byte* block, const float* importance) {
  with_importance(importance, [&](auto each) { round_with(f, weights, block, each); });
}

}  // namespace skipstone::gguf
