// Rounding to the 4-bit floating-point formats: the values 0, 0.5, 1, 1.5, 2, 3, 4 and 6 of both signs, times a scale that is itself a
// small number (a power of two in MXFP4, 8 bits in NVFP4).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "gguf/quants/blocks.h"

namespace skipstone::gguf {
namespace {

// Twice the values of E2M1 (OCP Microscaling Formats 1.0), as ggml's tables have them: the scale is half of the format's.
constexpr std::array<float, 8> magnitudes = {0, 1, 2, 3, 4, 6, 8, 12};
constexpr float largest_magnitude = magnitudes.back();

/// The code of the nearest value; bit 3 is the sign.
std::uint8_t code_of(float at) {
  constexpr std::array<float, 7> borders = {0.5f, 1.5f, 2.5f, 3.5f, 5.0f, 7.0f, 10.0f};
  const float size = std::fabs(at);
  std::uint8_t code = 0;
  for (const float border : borders) code = static_cast<std::uint8_t>(code + (size > border ? 1 : 0));
  return at < 0.0f && code > 0 ? code | 8 : code;
}

float value_of(std::uint8_t code) { return code & 8 ? -magnitudes[code & 7u] : magnitudes[code & 7u]; }

template <typename Importance>
float error_of(std::span<const float> weights, Importance importance, float scale) {
  const float inverse = inverse_or_zero(scale);
  float error = 0.0f;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float difference = scale * value_of(code_of(weights[i] * inverse)) - weights[i];
    error += importance[i] * (difference * difference);
  }
  return error;
}

float largest_of(std::span<const float> weights) {
  float largest = 0.0f;
  for (const float weight : weights) largest = std::max(largest, std::fabs(weight));
  return largest;
}

/// The scale's code from `first` to `last` of the least error; of equal ones the first.
template <typename Importance, typename Scale>
int best_scale(std::span<const float> weights, Importance importance, int first, int last, const Scale& scale_of) {
  int best = first;
  float least = error_of(weights, importance, scale_of(first));
  for (int code = first + 1; code <= last; ++code) {
    const float error = error_of(weights, importance, scale_of(code));
    if (!(error < least)) continue;
    least = error;
    best = code;
  }
  return best;
}

/// Codes of the first and second half of the weights in the low and high halves of bytes.
void store_codes(std::span<const float> weights, float scale, std::byte* to) {
  const float inverse = inverse_or_zero(scale);
  const std::size_t half = weights.size() / 2;
  for (std::size_t i = 0; i < half; ++i)
    to[i] = static_cast<std::byte>(code_of(weights[i] * inverse) | code_of(weights[i + half] * inverse) << 4);
}

/// Of a byte of exponent; half of the format's scale.
float power_of_two(int exponent) { return std::ldexp(1.0f, exponent - 128); }

/// Halves of the unsigned E4M3 numbers, by their seven bits but the last, which is no number.
constexpr std::array<float, 127> half_e4m3 = [] {
  std::array<float, 127> halves{};
  for (std::size_t code = 0; code < halves.size(); ++code) {
    const std::size_t exponent = code >> 3, mantissa = code & 7;
    halves[code] = static_cast<float>(exponent > 0 ? 8 + mantissa : mantissa) * 0x1p-10f;
    for (std::size_t i = 1; i < exponent; ++i) halves[code] *= 2.0f;
  }
  return halves;
}();

float half_of_e4m3(int code) { return half_e4m3[static_cast<std::size_t>(code)]; }

/// The greatest code whose value is at most `half_scale`; 0 below the smallest.
int e4m3_below(float half_scale) {
  return std::max(static_cast<int>(std::ranges::upper_bound(half_e4m3, half_scale) - half_e4m3.begin()) - 1, 0);
}

}  // namespace

// The scale with which the largest weight lies between 4 and 8 times it, and the next one on each side.
void round_mxfp4(const float* weights, std::byte* block, const float* importance) {
  const std::span<const float> all(weights, block_weights);
  const float largest = largest_of(all);
  int exponent = 0;
  if (largest > 0.0f) {
    const int nearest = std::ilogb(largest) + 125;
    const int first = std::clamp(nearest - 1, 0, 254), last = std::clamp(nearest + 1, 0, 254);
    with_importance(importance, [&](auto each) { exponent = best_scale(all, each, first, last, power_of_two); });
  }
  block[0] = static_cast<std::byte>(exponent);
  store_codes(all, power_of_two(exponent), block + 1);
}

// Each 16 weights have a scale. Those with which the largest weight becomes 6 or 4 are tried, and those between and beside them.
void round_nvfp4(const float* weights, std::byte* block, const float* importance) {
  constexpr std::size_t group = 16;
  for (std::size_t g = 0; g < BlockSize<Type::nvfp4>::weights / group; ++g) {
    const std::span<const float> part(weights + g * group, group);
    const float largest = largest_of(part);
    const int first = std::max(e4m3_below(largest / largest_magnitude) - 2, 0), last = std::min(e4m3_below(largest / 8.0f) + 1, 0x7e);
    int scale = 0;
    with_importance(importance == nullptr ? nullptr : importance + g * group,
                    [&](auto each) { scale = best_scale(part, each, first, last, half_of_e4m3); });
    block[g] = static_cast<std::byte>(scale);
    store_codes(part, half_of_e4m3(scale), block + 4 + g * 8);
  }
}

}  // namespace skipstone::gguf
