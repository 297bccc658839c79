// MXFP4 and NVFP4: weights of four bits (a sign, two bits of exponent, one of mantissa), with a scale of one byte for 32 or 16 of them.
// MXFP4: {scale, 16 bytes of codes as in Q4_0}; OCP Microscaling Formats (MX) Specification 1.0. NVFP4: {4 scales, 4 x 8 bytes of
// codes}; byte j of a part has weight j in its low half and weight 8 + j in its high half. Values are stored doubled, scales halved.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "gguf/quants/blocks.h"

namespace skipstone::gguf {
namespace {

// kvalues_mxfp4 of ggml-common.h, part of the format: twice the number of a code.
constexpr std::array<float, 16> fp4_values = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// 2^(e - 128), which is subnormal for 0 and 1.
float e8m0_scale(int e) {
  const auto bits = static_cast<std::uint32_t>(e);
  return std::bit_cast<float>(bits < 2 ? 0x00200000u << bits : (bits - 1) << 23);
}

/// The one code of a scale that is no number.
bool is_finite_mxfp4(const std::byte* block) { return block[0] != std::byte{0xff}; }

void expand_mxfp4(const std::byte* block, float* out) {
  const float scale = e8m0_scale(std::to_integer<int>(block[0]));
  for (std::size_t i = 0; i < 16; ++i) {
    const auto packed = std::to_integer<std::size_t>(block[1 + i]);
    out[i] = scale * fp4_values[packed & 15];
    out[i + 16] = scale * fp4_values[packed >> 4];
  }
}

constexpr std::size_t nvfp4_part = 16, nvfp4_parts = 4;  // of NVFP4: a scale each

/// The scale's byte on the device: the sign is not used, and the code that would be NaN means 0.
std::uint8_t e4m3_of(std::byte scale) {
  const auto bits = std::to_integer<std::uint8_t>(scale & std::byte{0x7f});
  return bits == 0x7f ? 0 : bits;
}

/// Halves of the numbers with four bits of exponent (bias 7) and three of mantissa, by their seven bits.
constexpr std::array<float, 127> e4m3_scales = [] {
  std::array<float, 127> scales{};
  for (std::uint32_t bits = 0; bits < scales.size(); ++bits)
    scales[bits] = bits < 8 ? static_cast<float>(bits) * 0x1p-10f : std::bit_cast<float>((bits << 20) + (119u << 23));
  return scales;
}();
float e4m3_scale(int bits) { return e4m3_scales[static_cast<std::size_t>(bits)]; }

void expand_nvfp4(const std::byte* block, float* out) {
  for (std::size_t part = 0; part < nvfp4_parts; ++part, out += nvfp4_part) {
    const float scale = e4m3_scale(e4m3_of(block[part]));
    for (std::size_t i = 0; i < 8; ++i) {
      const auto packed = std::to_integer<std::size_t>(block[nvfp4_parts + part * 8 + i]);
      out[i] = scale * fp4_values[packed & 15];
      out[i + 8] = scale * fp4_values[packed >> 4];
    }
  }
}

// Two blocks of 32, each in the order of Q4_0.
void repack_nvfp4(const std::byte* block, std::byte* quants, std::byte* scales) {
  for (std::size_t part = 0; part < nvfp4_parts; ++part) scales[part] = static_cast<std::byte>(e4m3_of(block[part]));
  for (std::size_t half = 0; half < 2; ++half) {
    std::array<std::uint8_t, 32> codes{};
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::size_t part = 2 * half + i / nvfp4_part;
      const auto packed = std::to_integer<std::uint8_t>(block[nvfp4_parts + part * 8 + i % 8]);
      codes[i] = i % nvfp4_part < 8 ? packed & 15 : packed >> 4;
    }
    put_nibbles(codes, quants + 16 * half);
  }
}

/// The code of the nearest value; bit 3 is the sign.
std::uint8_t code_of(float at) {
  constexpr std::array<float, 7> borders = {0.5f, 1.5f, 2.5f, 3.5f, 5.0f, 7.0f, 10.0f};
  const float size = std::fabs(at);
  std::uint8_t code = 0;
  for (const float border : borders) code = static_cast<std::uint8_t>(code + (size > border ? 1 : 0));
  return at < 0.0f && code > 0 ? code | 8 : code;
}

template <typename Importance>
float error_of(std::span<const float> weights, Importance importance, float scale) {
  const float inverse = inverse_or_zero(scale);
  float error = 0.0f;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float difference = scale * fp4_values[code_of(weights[i] * inverse)] - weights[i];
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

/// The greatest code whose value is at most `half_scale`; 0 below the smallest.
int e4m3_below(float half_scale) {
  return std::max(static_cast<int>(std::ranges::upper_bound(e4m3_scales, half_scale) - e4m3_scales.begin()) - 1, 0);
}

// The scale with which the largest weight lies between 4 and 8 times it, and the next one on each side.
void round_mxfp4(const float* weights, std::byte* block, const float* importance) {
  const std::span<const float> all(weights, block_weights);
  const float largest = largest_of(all);
  int exponent = 0;
  if (largest > 0.0f) {
    const int nearest = std::ilogb(largest) + 125;
    const int first = std::clamp(nearest - 1, 0, 254), last = std::clamp(nearest + 1, 0, 254);
    with_importance(importance, [&](auto each) { exponent = best_scale(all, each, first, last, e8m0_scale); });
  }
  block[0] = static_cast<std::byte>(exponent);
  store_codes(all, e8m0_scale(exponent), block + 1);
}

// Each 16 weights have a scale. Those with which the largest weight becomes 6 or 4 are tried, and those between and beside them.
void round_nvfp4(const float* weights, std::byte* block, const float* importance) {
  for (std::size_t g = 0; g < nvfp4_parts; ++g) {
    const std::span<const float> part(weights + g * nvfp4_part, nvfp4_part);
    const float largest = largest_of(part);
    const int first = std::max(e4m3_below(largest / 12.0f) - 2, 0), last = std::min(e4m3_below(largest / 8.0f) + 1, 0x7e);
    int scale = 0;
    with_importance(importance == nullptr ? nullptr : importance + g * nvfp4_part,
                    [&](auto each) { scale = best_scale(part, each, first, last, e4m3_scale); });
    block[g] = static_cast<std::byte>(scale);
    store_codes(part, e4m3_scale(scale), block + 4 + g * 8);
  }
}

}  // namespace

// Of random scales the part after the stored bits is cut off, so sizes are those that give matrices of 2048 columns theirs.
constexpr BlockCode mxfp4_code = code_of_blocks<Type::mxfp4, expand_mxfp4, split_block<1, 16>, round_mxfp4>(
    {random_bits, {RandomPattern::Number::e8m0, 1, 1}, 4.13}, all_are_finite<Type::mxfp4, is_finite_mxfp4>);
constexpr BlockCode nvfp4_code =
    code_of_blocks<Type::nvfp4, expand_nvfp4, repack_nvfp4, round_nvfp4>({random_bits, {RandomPattern::Number::e4m3, 1, 1}, 5.43}, nullptr);

}  // namespace skipstone::gguf
