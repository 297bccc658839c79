// IQ4_NL: {f16 scale, 16 bytes of codes as in Q4_0}; a code represents one of 16 unevenly spaced values. IQ4_XS: 256 weights {f16 scale,
// the upper two bits of eight 6-bit scales, their lower four bits, the codes of eight blocks}; scales are stored plus 32.
#include <algorithm>
#include <array>
#include <cmath>

#include "gguf/quants/blocks.h"

namespace skipstone::gguf {
namespace {

// kvalues_iq4nl of ggml-common.h, part of the format.
constexpr std::array<float, 16> codebook_values = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
// The nearest value's code for every half of a whole number from -128 on; the borders between values are whole numbers or halves.
constexpr std::size_t half_steps = 512;
constexpr std::array<std::uint8_t, half_steps> nearest_codes = [] {
  std::array<std::uint8_t, half_steps> codes{};
  for (std::size_t i = 0; i < half_steps; ++i) {
    const float at = -128.0f + 0.5f * static_cast<float>(i) + 0.25f;
    while (codes[i] < 15 && at > 0.5f * (codebook_values[codes[i]] + codebook_values[codes[i] + 1u])) ++codes[i];
  }
  return codes;
}();

void expand_codes(const std::byte* codes, float scale, float* out) {
  for (std::size_t i = 0; i < 16; ++i) {
    const auto packed = std::to_integer<std::size_t>(codes[i]);
    out[i] = scale * codebook_values[packed & 15];
    out[i + 16] = scale * codebook_values[packed >> 4];
  }
}

void expand_iq4_nl(const std::byte* block, float* out) { expand_codes(block + 2, half_at(block), out); }

void expand_iq4_xs(const std::byte* block, float* out) {
  const float d = half_at(block);
  const unsigned high = load16(block + 2);
  const std::uint32_t low = load32(block + 4);
  for (std::size_t b = 0; b < 8; ++b) {
    const auto scale = static_cast<int>((low >> 4 * b & 15u) | (high >> 2 * b & 3u) << 4) - 32;
    expand_codes(block + 8 + 16 * b, d * static_cast<float>(scale), out + 32 * b);
  }
}

using CodebookCodes = std::array<std::uint8_t, block_weights>;

CodebookCodes nearest(const float* weights, float inverse) {
  CodebookCodes codes{};
  for (std::size_t i = 0; i < block_weights; ++i) {
    const float at = std::clamp(2.0f * weights[i] * inverse + 256.0f, 0.0f, static_cast<float>(half_steps - 1));
    codes[i] = nearest_codes[static_cast<std::size_t>(at)];
  }
  return codes;
}

struct Score {
  double products = 0.0, squares = 0.0;  // of value * weight, value^2, each times the importance
  /// How much less the sum of squares is than with all weights zero, at this scale.
  double gain(double scale) const { return scale * (2.0 * products - scale * squares); }
};

template <typename Importance>
Score score(const float* weights, const CodebookCodes& codes, Importance importance) {
  Score s;
  for (std::size_t i = 0; i < block_weights; ++i) {
    const auto value = static_cast<double>(codebook_values[codes[i]]);
    const double important = static_cast<double>(importance[i]) * value;
    s.products += important * static_cast<double>(weights[i]);
    s.squares += important * value;
  }
  return s;
}

// As fit_symmetric(), with the codebook's values in place of whole numbers. Both signs are tried: the values lean to one side. `stored` is
// what becomes of a scale in the file.
template <typename Importance, typename Stored>
float fit_codebook(const float* weights, Importance importance, const Stored& stored) {
  constexpr int starts = 5, refinements = 1;
  float largest = 0.0f;
  for (std::size_t i = 0; i < block_weights; ++i) largest = std::max(largest, std::fabs(weights[i]));
  float best_scale = 0.0f;
  double best_gain = 0.0;
  for (const float end : {-127.0f, 127.0f}) {
    for (int start = 0; start < starts && largest > 0.0f; ++start) {
      float scale = largest / (end * (0.84f + 0.1f * static_cast<float>(start)));
      for (int pass = 0; pass <= refinements; ++pass) {
        const Score s = score(weights, nearest(weights, inverse_or_zero(scale)), importance);
        if (!(s.squares > 0.0)) break;
        scale = static_cast<float>(s.products / s.squares);
        const double gain = s.gain(static_cast<double>(stored(scale)));
        if (gain > best_gain) {
          best_gain = gain;
          best_scale = stored(scale);
        }
      }
    }
  }
  return best_scale;
}

void round_iq4_nl(const float* weights, std::byte* block, const float* importance) {
  with_importance(importance, [&](auto each) {
    const float scale = fit_codebook(weights, each, [](float wanted) { return half_to_float(float_to_half(wanted)); });
    store16(block, float_to_half(scale));
    put_nibbles(nearest(weights, inverse_or_zero(scale)), block + 2);
  });
}

template <typename Importance>
float codebook_error(const float* weights, Importance importance, float scale) {
  const CodebookCodes codes = nearest(weights, inverse_or_zero(scale));
  float error = 0.0f;
  for (std::size_t i = 0; i < block_weights; ++i) {
    const float difference = scale * codebook_values[codes[i]] - weights[i];
    error += importance[i] * (difference * difference);
  }
  return error;
}

// IQ4_XS: the widest block's scale is the outermost of the whole numbers from -32 to 31; the others are the best neighbours of what their
// blocks want.
template <typename Importance>
void round_iq4_xs_with(const float* weights, std::byte* block, Importance importance) {
  constexpr int lowest = -32, highest = 31;
  std::array<float, 8> wanted{};
  float widest = 0.0f;
  for (std::size_t b = 0; b < wanted.size(); ++b) {
    wanted[b] = fit_codebook(weights + b * block_weights, importance + b * block_weights, [](float scale) { return scale; });
    if (std::fabs(wanted[b]) > std::fabs(widest)) widest = wanted[b];
  }
  const std::uint16_t stored = float_to_half(widest / static_cast<float>(lowest));
  const float d = half_to_float(stored);
  std::array<int, 8> scales{};
  for (std::size_t b = 0; b < scales.size(); ++b) {
    const float at = std::clamp(wanted[b] * inverse_or_zero(d), static_cast<float>(lowest), static_cast<float>(highest));
    const auto centre = static_cast<int>(std::lround(at));
    float least = -1.0f;
    for (int scale = std::max(centre - 1, lowest); scale <= std::min(centre + 1, highest); ++scale) {
      const float error = codebook_error(weights + b * block_weights, importance + b * block_weights, d * static_cast<float>(scale));
      if (least >= 0.0f && !(error < least)) continue;
      least = error;
      scales[b] = scale;
    }
  }
  std::uint32_t low = 0, high = 0;
  for (std::size_t b = 0; b < scales.size(); ++b) {
    const auto above = static_cast<std::uint32_t>(scales[b] - lowest);
    low |= (above & 15u) << 4 * b;
    high |= above >> 4 << 2 * b;
  }
  store16(block, stored);
  store16(block + 2, static_cast<std::uint16_t>(high));
  store32(block + 4, low);
  for (std::size_t b = 0; b < scales.size(); ++b) {
    put_nibbles(nearest(weights + b * block_weights, inverse_or_zero(d * static_cast<float>(scales[b]))), block + 8 + b * 16);
  }
}

void round_iq4_xs(const float* weights, std::byte* block, const float* importance) {
  with_importance(importance, [&](auto each) { round_iq4_xs_with(weights, block, each); });
}

}  // namespace

constexpr BlockCode iq4_nl_code = code_of_blocks<Type::iq4_nl, expand_iq4_nl, split_block<2, 16>, round_iq4_nl>(
    {random_bits, random_halves, 70.2}, halves_are_finite<Type::iq4_nl, 0>);
constexpr BlockCode iq4_xs_code = code_of_blocks<Type::iq4_xs, expand_iq4_xs, split_block<8, 128>, round_iq4_xs>(
    {random_bits, {RandomPattern::Number::f16, 4, 1}, 1297.0}, halves_are_finite<Type::iq4_xs, 0>);

}  // namespace skipstone::gguf
