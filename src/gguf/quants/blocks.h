// The parts of which formats' code for blocks consists.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "base/half.h"
#include "gguf/block_code.h"

namespace skipstone::gguf {

static_assert(std::endian::native == std::endian::little, "GGUF stores little-endian numbers, which this code reads in place");

// "q8_0_code" and so on, each in its format's file.
#define WEIGHT_FORMAT(id, ...) extern const BlockCode id##_code;
#include "gguf/weight_formats.def"

/// Weights and bytes of a block.
template <Type type>
struct BlockSize;
#define WEIGHT_FORMAT(id, number, name, block, bytes_of_block, ...)       \
  template <>                                                             \
  struct BlockSize<Type::id> {                                            \
    static constexpr std::size_t weights = block, bytes = bytes_of_block; \
  };
#include "gguf/weight_formats.def"

/// The code of a format that is only read, from functions for one block each: expand(block, out), and repack as in BlockCode.
template <Type type, auto expand, auto repack>
constexpr BlockCode code_of_blocks(const RandomUnit& random, decltype(BlockCode::scales_are_finite) scales_are_finite) {
  using Size = BlockSize<type>;
  BlockCode code{};
  code.expand = [](const std::byte* blocks, std::size_t count, float* out) {
    for (std::size_t b = 0; b < count; ++b) expand(blocks + b * Size::bytes, out + b * Size::weights);
  };
  code.repack = repack;
  code.random = random;
  code.scales_are_finite = scales_are_finite;
  return code;
}
/// The code of a format that is written too: round(weights, block), or round(weights, block, importance) as in BlockCode.
template <Type type, auto expand, auto repack, auto round>
constexpr BlockCode code_of_blocks(const RandomUnit& random, decltype(BlockCode::scales_are_finite) scales_are_finite) {
  using Size = BlockSize<type>;
  BlockCode code = code_of_blocks<type, expand, repack>(random, scales_are_finite);
  code.round = [](const float* weights, std::size_t count, std::byte* blocks, [[maybe_unused]] const float* importance) {
    for (std::size_t b = 0; b < count; ++b) {
      if constexpr (std::is_invocable_v<decltype(round), const float*, std::byte*, const float*>) {
        round(weights + b * Size::weights, blocks + b * Size::bytes, importance == nullptr ? nullptr : importance + b * Size::weights);
      } else {
        round(weights + b * Size::weights, blocks + b * Size::bytes);
      }
    }
  };
  return code;
}

// Random units: random bits; halves; a unit's halves of which the scale is the first one, with a minimum as large as makes the mean of all
// weights about zero. Sizes are sampled, with scales and minima evenly from 0.5 to 1.5 and codes of random bits; of plain numbers the size
// is 1 / sqrt(3).
inline constexpr RandomPattern random_bits{};
inline constexpr RandomPattern random_halves{RandomPattern::Number::f16, 1, 1};
constexpr RandomPattern scale_and_minimum(std::uint32_t unit_halves, float minimum) {
  return {RandomPattern::Number::f16, unit_halves, 3, 2, minimum};
}

/// Weights of a block of the formats that are no super-blocks.
inline constexpr std::size_t block_weights = 32;

inline std::uint8_t byte_at(const std::byte* from, std::size_t i) { return std::to_integer<std::uint8_t>(from[i]); }
inline std::uint16_t load16(const std::byte* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}
inline std::uint32_t load32(const std::byte* from) {
  std::uint32_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}
inline void store16(std::byte* to, std::uint16_t bits) { std::memcpy(to, &bits, sizeof bits); }
inline void store32(std::byte* to, std::uint32_t bits) { std::memcpy(to, &bits, sizeof bits); }
inline float half_at(const std::byte* from) { return half_to_float(load16(from)); }
inline float float_at(const std::byte* from) { return std::bit_cast<float>(load32(from)); }

/// A bit that is set where the exponent of a half has all bits: infinities and NaN.
constexpr unsigned not_finite(unsigned half) { return ((half & 0x7c00u) + 0x400u) & 0x8000u; }
/// BlockCode::scales_are_finite of blocks with halves at these bytes.
template <Type type, std::size_t... places>
bool halves_are_finite(const std::byte* blocks, std::size_t count) {
  unsigned bad = 0;
  for (std::size_t b = 0; b < count; ++b) ((bad |= not_finite(load16(blocks + b * BlockSize<type>::bytes + places))), ...);
  return bad == 0;
}
/// The same of a block's scale in another form.
template <Type type, auto is_finite>
bool all_are_finite(const std::byte* blocks, std::size_t count) {
  for (std::size_t b = 0; b < count; ++b) {
    if (!is_finite(blocks + b * BlockSize<type>::bytes)) return false;
  }
  return true;
}

// Fields of 32 weights on the device, as shaders/lib/quant.glsl takes them apart (four weights in the four bytes of a word at a time):
// nibbles: 16 bytes; byte j has weight j in its low half and weight 16 + j in its high half (the order of Q4_0 in files);
// pairs: 8 bytes; byte j % 4 of word j / 16 has weight j at bits 2 * (j / 4 % 4);
// bits: 4 bytes; byte j % 4 has weight j at bit j / 4.
using Codes32 = std::span<const std::uint8_t, 32>;

inline void put_nibbles(Codes32 codes, std::byte* to) {
  for (std::size_t j = 0; j < 16; ++j) to[j] = static_cast<std::byte>((codes[j] & 15) | (codes[j + 16] & 15) << 4);
}
inline void put_pairs(Codes32 codes, unsigned shift, std::byte* to) {
  for (std::size_t j = 0; j < 32; ++j) to[j / 16 * 4 + j % 4] |= static_cast<std::byte>((codes[j] >> shift & 3) << (j / 4 % 4 * 2));
}
inline void put_bits(Codes32 codes, unsigned shift, std::byte* to) {
  for (std::size_t j = 0; j < 32; ++j) to[j % 4] |= static_cast<std::byte>((codes[j] >> shift & 1) << (j / 4));
}
inline void put_float(float value, std::byte* to) { std::memcpy(to, &value, sizeof value); }

/// {scale (, minimum) or places, codes}: both go to the device as they are.
template <std::size_t header, std::size_t codes>
void split_block(const std::byte* block, std::byte* quants, std::byte* scales) {
  std::memcpy(scales, block, header);
  std::memcpy(quants, block + header, codes);
}

/// The importance of weights that count alike, in place of a pointer to numbers.
struct AlikeImportance {
  constexpr float operator[](std::size_t) const { return 1.0f; }
  constexpr AlikeImportance operator+(std::size_t) const { return {}; }
};

/// Calls round(importance) with that of AlikeImportance where there are no numbers.
template <typename Round>
void with_importance(const float* importance, const Round& round) {
  if (importance == nullptr) {
    round(AlikeImportance{});
  } else {
    round(importance);
  }
}

/// Weights as scale * code - minimum, with whole codes from 0 to `most`.
struct Range {
  float scale = 0.0f, minimum = 0.0f;
};

/// The scale and minimum of a group of weights that make the sum of squared rounding errors, each times its weight's importance, small.
/// minimum >= 0, as K-quants store it; groups of positive weights have 0. `Importance` is AlikeImportance or const float*.
template <typename Importance>
Range fit_with_minimum(std::span<const float> weights, int most, Importance importance);

/// The same for weights as scale * (code - middle), codes 0 .. 2 * middle - 1; negative where the largest magnitude is a positive weight,
/// for there is one code more below the middle than above it.
template <typename Importance>
float fit_symmetric(std::span<const float> weights, int middle, Importance importance);

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

inline constexpr std::size_t super_block_weights = 256;

/// A super-block (K-quants) with its bit fields taken apart. Weight i is d * scales[g] * (codes[i] - middle) - dmin * minima[g],
/// g = i / group; middle and group are its SuperFormat's.
struct SuperBlock {
  std::uint16_t d = 0, dmin = 0;  ///< binary16
  std::array<std::int8_t, 16> scales{};
  std::array<std::uint8_t, 16> minima{};
  std::array<std::uint8_t, super_block_weights> codes{};
};

struct SuperFormat {
  std::size_t group;         ///< weights that share a scale: 16 or 32
  int bits;                  ///< of a code
  bool minimum;              ///< codes count from a minimum; else from 2^(bits-1) below zero
  int scale_from, scale_to;  ///< the whole numbers that a group's scale may be; minima: 0 .. scale_to
  SuperBlock (*read)(const std::byte* block);
  void (*write)(const SuperBlock& content, std::byte* block);

  std::size_t groups() const { return super_block_weights / group; }
  int middle() const { return minimum ? 0 : 1 << (bits - 1); }
  int most() const { return (1 << bits) - 1; }
};

void expand_super_block(const SuperFormat& format, const std::byte* block, float* out);
void round_super_block(const SuperFormat& format, const float* weights, std::byte* block, const float* importance);

}  // namespace skipstone::gguf
