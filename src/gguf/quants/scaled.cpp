// Blocks of 32 weights. Where a format has them, in this order: f16 scale, f16 minimum, 32 fifth bits (bit i of weight i), codes. Q8_0
// has a signed byte a weight, as Q8_K has in blocks of 256; the others 16 bytes whose low halves are weights 0..15 and high halves
// weights 16..31.
//
// Rounding is the formats' usual one, that of quantize_row_*_ref in ggml-quants.c of https://github.com/ggml-org/ggml: a symmetric range
// is scaled so that the weight of the largest magnitude gets its code exactly (the lowest code, or +-127), one with a minimum so that the
// least and the greatest weight do. tests/unit/quantize_test.cpp compares bytes with those of another implementation. Only an importance
// matrix makes a search of it.
#include <algorithm>
#include <array>
#include <cmath>

#include "gguf/quants/blocks.h"

namespace skipstone::gguf {
namespace {

void expand_q8_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (std::size_t i = 0; i < block_weights; ++i) out[i] = scale * static_cast<float>(std::bit_cast<std::int8_t>(block[2 + i]));
}

// Q8_K: {float scale, 256 signed bytes, 16 sums of 16 of them, which are not read}.
void expand_q8_k(const std::byte* block, float* out) {
  const float scale = float_at(block);
  for (std::size_t i = 0; i < super_block_weights; ++i) out[i] = scale * static_cast<float>(std::bit_cast<std::int8_t>(block[4 + i]));
}

bool is_finite_q8_k(const std::byte* block) { return std::isfinite(float_at(block)); }

/// 4 or 5 bits a weight. Symmetric: scale * (code - 2^(bits-1)). With a minimum: scale * code + minimum.
template <unsigned bits, bool minimum>
struct Layout {
  static constexpr std::size_t high = minimum ? 4 : 2, codes = high + (bits == 5 ? 4 : 0);
  static constexpr int middle = minimum ? 0 : 1 << (bits - 1), most = (1 << bits) - 1;

  static void expand(const std::byte* block, float* out) {
    const float scale = half_at(block), offset = minimum ? half_at(block + 2) : 0.0f;
    std::uint32_t fifth = 0;
    if constexpr (bits == 5) std::memcpy(&fifth, block + high, sizeof fifth);
    for (std::size_t i = 0; i < block_weights; ++i) {
      const auto packed = std::to_integer<int>(block[codes + i % 16]);
      const int code = (i < 16 ? packed & 15 : packed >> 4) | static_cast<int>(fifth >> i & 1u) << 4;
      const float value = scale * static_cast<float>(code - middle);
      out[i] = minimum ? value + offset : value;
    }
  }

  static void store_codes(const std::array<int, block_weights>& code, std::byte* block) {
    std::uint32_t fifth = 0;
    for (std::size_t i = 0; i < 16; ++i) block[codes + i] = static_cast<std::byte>((code[i] & 15) | (code[i + 16] & 15) << 4);
    for (std::size_t i = 0; i < block_weights; ++i) fifth |= static_cast<std::uint32_t>(code[i] >> 4) << i;
    if constexpr (bits == 5) std::memcpy(block + high, &fifth, sizeof fifth);
  }

  static void round(const float* weights, std::byte* block, const float* importance) {
    if (importance != nullptr) return round_by_importance(weights, block, importance);
    const auto [least, greatest] = std::minmax_element(weights, weights + block_weights);
    float scale, from;
    if (minimum) {
      scale = (*greatest - *least) / static_cast<float>(most);
      from = -*least;
      store16(block + 2, float_to_half(*least));
    } else {
      // With its sign: it becomes code 0, so that the wider side of the range is used.
      const float largest =
          *std::max_element(weights, weights + block_weights, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
      scale = largest / static_cast<float>(-middle);
      from = 0.0f;
    }
    const std::uint16_t stored = float_to_half(scale);
    store16(block, stored);
    const float inverse = (stored & 0x7fffu) == 0 ? 0.0f : 1.0f / scale;  // codes have no effect where the scale is 0
    std::array<int, block_weights> code{};
    for (std::size_t i = 0; i < block_weights; ++i) {
      // Adding a half and truncating rounds to nearest, since the sum is never negative.
      code[i] = std::min(most, static_cast<int>((weights[i] + from) * inverse + (static_cast<float>(middle) + 0.5f)));
    }
    store_codes(code, block);
  }

  /// The scale (and minimum) of the least error; a minimum is never above zero, as in K-quants.
  static void round_by_importance(const float* weights, std::byte* block, const float* importance) {
    const std::span<const float> all(weights, block_weights);
    const Range fitted = minimum ? fit_with_minimum(all, most, importance) : Range{fit_symmetric(all, middle, importance), 0.0f};
    // The fit may leave the range of halves, which the weights themselves do not.
    const auto stored = [](float value) { return float_to_half(std::clamp(value, -largest_half, largest_half)); };
    const std::uint16_t scale = stored(fitted.scale), from = stored(-fitted.minimum);
    store16(block, scale);
    if (minimum) store16(block + 2, from);
    const Grid grid{inverse_or_zero(half_to_float(scale)), minimum ? -half_to_float(from) : 0.0f, static_cast<float>(middle),
                    static_cast<float>(most)};
    std::array<int, block_weights> code{};
    for (std::size_t i = 0; i < block_weights; ++i) code[i] = grid.code(weights[i]);
    store_codes(code, block);
  }
};

void round_q8_0(const float* weights, std::byte* block) {
  float largest = 0.0f;
  for (std::size_t i = 0; i < block_weights; ++i) largest = std::max(largest, std::fabs(weights[i]));
  const std::uint16_t stored = float_to_half(largest / 127.0f);
  store16(block, stored);
  const float inverse = stored == 0 ? 0.0f : 1.0f / (largest / 127.0f);
  for (std::size_t i = 0; i < block_weights; ++i) {
    block[2 + i] = std::bit_cast<std::byte>(static_cast<std::int8_t>(std::round(weights[i] * inverse)));
  }
}

// Bit j of weight j becomes bit j / 4 of byte j % 4.
void regroup_fifth_bits(const std::byte* from, std::byte* to) {
  std::uint32_t bits;
  std::memcpy(&bits, from, sizeof bits);
  std::array<std::uint8_t, 32> codes;
  for (std::size_t j = 0; j < 32; ++j) codes[j] = bits >> j & 1u;
  put_bits(codes, 0, to);
}

// Plane 1: fifth bits, then the scale as a float (there is room for it: 6 bytes would be 8 anyway), or scale and minimum as halves.
void repack_q5_0(const std::byte* block, std::byte* quants, std::byte* scales) {
  regroup_fifth_bits(block + 2, scales);
  put_float(half_at(block), scales + 4);
  std::memcpy(quants, block + 6, 16);
}

void repack_q5_1(const std::byte* block, std::byte* quants, std::byte* scales) {
  regroup_fifth_bits(block + 4, scales);
  std::memcpy(scales + 4, block, 4);
  std::memcpy(quants, block + 8, 16);
}

template <Type type, unsigned bits, bool minimum, auto repack>
constexpr BlockCode code_of_layout(const RandomUnit& random) {
  return code_of_blocks<type, Layout<bits, minimum>::expand, repack, Layout<bits, minimum>::round>(
      random, minimum ? halves_are_finite<type, 0, 2> : halves_are_finite<type, 0>);
}

}  // namespace

constexpr BlockCode q8_0_code = code_of_blocks<Type::q8_0, expand_q8_0, split_block<2, 32>, round_q8_0>({random_bits, random_halves, 77.0},
                                                                                                        halves_are_finite<Type::q8_0, 0>);
constexpr BlockCode q8_k_code = code_of_blocks<Type::q8_k, expand_q8_k, split_block<4, 256>>(
    {random_bits, {RandomPattern::Number::f32, 2, 1}, 77.0}, all_are_finite<Type::q8_k, is_finite_q8_k>);
constexpr BlockCode q4_0_code = code_of_layout<Type::q4_0, 4, false, split_block<2, 16>>({random_bits, random_halves, 4.83});
constexpr BlockCode q4_1_code = code_of_layout<Type::q4_1, 4, true, split_block<4, 16>>({random_bits, scale_and_minimum(2, -7.5f), 5.68});
constexpr BlockCode q5_0_code = code_of_layout<Type::q5_0, 5, false, repack_q5_0>({random_bits, {RandomPattern::Number::f32, 4, 4}, 9.61});
constexpr BlockCode q5_1_code =
    code_of_layout<Type::q5_1, 5, true, repack_q5_1>({random_bits, {RandomPattern::Number::f16, 4, 12, 8, -15.5f}, 11.5});

}  // namespace skipstone::gguf
