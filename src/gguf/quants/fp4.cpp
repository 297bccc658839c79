// MXFP4 and NVFP4: weights of four bits (a sign, two bits of exponent, one of mantissa), with a scale of one byte for 32 or 16 of them.
// MXFP4: {scale, 16 bytes of codes as in Q4_0}; OCP Microscaling Formats (MX) Specification 1.0. NVFP4: {4 scales, 4 x 8 bytes of
// codes}; byte j of a part has weight j in its low half and weight 8 + j in its high half. Values are stored doubled, scales halved.
#include <array>
#include <bit>
#include <cstring>

#include "gguf/quants/blocks.h"

namespace skipstone::gguf {
namespace {

// kvalues_mxfp4 of ggml-common.h, part of the format: twice the number of a code.
constexpr std::array<float, 16> fp4_values = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// 2^(e - 128), which is subnormal for 0 and 1.
float e8m0_scale(std::byte scale) {
  const auto e = std::to_integer<std::uint32_t>(scale);
  return std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

void expand_mxfp4(const std::byte* block, float* out) {
  const float scale = e8m0_scale(block[0]);
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

/// Half of the number with four bits of exponent (bias 7) and three of mantissa.
float e4m3_scale(std::byte scale) {
  const std::uint32_t bits = e4m3_of(scale), exponent = bits >> 3, mantissa = bits & 7;
  return exponent == 0 ? static_cast<float>(mantissa) * 0x1p-10f : std::bit_cast<float>((bits << 20) + (119u << 23));
}

void expand_nvfp4(const std::byte* block, float* out) {
  for (std::size_t part = 0; part < nvfp4_parts; ++part, out += nvfp4_part) {
    const float scale = e4m3_scale(block[part]);
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

}  // namespace

// Of random scales the part after the stored bits is cut off, so sizes are those that give matrices of 2048 columns theirs.
constexpr BlockCode mxfp4_code =
    code_of_blocks<Type::mxfp4, expand_mxfp4, split_block<1, 16>, round_mxfp4>({random_bits, {RandomPattern::Number::e8m0, 1, 1}, 4.13});
constexpr BlockCode nvfp4_code =
    code_of_blocks<Type::nvfp4, expand_nvfp4, repack_nvfp4, round_nvfp4>({random_bits, {RandomPattern::Number::e4m3, 1, 1}, 5.43});

}  // namespace skipstone::gguf
