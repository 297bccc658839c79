// One or two bits a weight with one binary16 scale a block: Q1_0 (-1, 1), Q2_0 (-1 to 2), and the ternary TQ1_0 and TQ2_0, whose scale
// comes last. Fields as in block_q1_0 .. block_tq2_0 of ggml-common.h of https://github.com/ggml-org/ggml.
#include <array>

#include "gguf/quants/blocks.h"

namespace skipstone::gguf {
namespace {

template <std::size_t weights>
using Codes = std::array<std::uint8_t, weights>;

// {scale, bits from the lowest}: code 0 is -1, 1 is 1.
Codes<128> read_q1_0(const std::byte* block) {
  Codes<128> codes;
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = std::to_integer<std::uint8_t>(block[2 + i / 8] >> (i % 8) & std::byte{1});
  return codes;
}

// {scale, pairs of bits from the lowest}: the weight is code - 1.
Codes<64> read_q2_0(const std::byte* block) {
  Codes<64> codes;
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = std::to_integer<std::uint8_t>(block[2 + i / 4] >> (i % 4 * 2) & std::byte{3});
  return codes;
}

// Two halves of 32 bytes: byte j holds weights j, 32 + j, 64 + j, 96 + j of a half.
Codes<256> read_tq2_0(const std::byte* block) {
  Codes<256> codes;
  for (std::size_t i = 0; i < codes.size(); ++i)
    codes[i] = std::to_integer<std::uint8_t>(block[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & std::byte{3});
  return codes;
}

/// Digit n of base 3, from the highest: a byte is the number that its five digits are after the point, times 256, rounded up.
std::uint8_t ternary_digit(std::byte packed, std::size_t n) {
  constexpr std::array<unsigned, 5> powers = {1, 3, 9, 27, 81};
  return static_cast<std::uint8_t>((std::to_integer<unsigned>(packed) * powers[n] & 255u) * 3 >> 8);
}

// Bytes 0..31 have five digits (digit n of byte j is weight 32 n + j), bytes 32..47 as well (160 + 16 n + j), bytes 48..51 four (240 + 4 n
// + j).
Codes<256> read_tq1_0(const std::byte* block) {
  struct Run {
    std::size_t byte, bytes, weight, digits;
  };
  Codes<256> codes{};
  for (const Run& run : {Run{0, 32, 0, 5}, Run{32, 16, 160, 5}, Run{48, 4, 240, 4}}) {
    for (std::size_t n = 0; n < run.digits; ++n) {
      for (std::size_t j = 0; j < run.bytes; ++j) codes[run.weight + n * run.bytes + j] = ternary_digit(block[run.byte + j], n);
    }
  }
  return codes;
}

/// weight = scale * (step * code - 1). `scale_at`: where in the block the scale is.
template <auto read, std::size_t scale_at, int step>
void expand_codes(const std::byte* block, float* out) {
  const auto codes = read(block);
  const float scale = half_at(block + scale_at);
  for (std::size_t i = 0; i < codes.size(); ++i) out[i] = scale * static_cast<float>(step * codes[i] - 1);
}

// Ternary weights take pairs of bits on the device in both forms.
template <auto read, std::size_t scale_at>
void repack_pairs(const std::byte* block, std::byte* quants, std::byte* scales) {
  const auto codes = read(block);
  std::memcpy(scales, block + scale_at, 2);
  for (std::size_t i = 0; i < codes.size(); i += 32) put_pairs(Codes32(&codes[i], 32), 0, quants + i / 4);
}

void repack_q1_0(const std::byte* block, std::byte* quants, std::byte* scales) {
  const auto codes = read_q1_0(block);
  std::memcpy(scales, block, 2);
  for (std::size_t i = 0; i < codes.size(); i += 32) put_bits(Codes32(&codes[i], 32), 0, quants + i / 8);
}

// Pairs of random bits are 0.5 on average after the 1 is taken off, so every other scale is negative.
constexpr RandomPattern halves_of_both_signs{RandomPattern::Number::f16, 2, 3, 2, -1.0f};

template <Type type, auto read, std::size_t scale_at>
constexpr BlockCode code_of_pairs(double size) {
  return code_of_blocks<type, expand_codes<read, scale_at, 1>, repack_pairs<read, scale_at>>({random_bits, halves_of_both_signs, size},
                                                                                             halves_are_finite<type, scale_at>);
}

}  // namespace

constexpr BlockCode q1_0_code = code_of_blocks<Type::q1_0, expand_codes<read_q1_0, 0, 2>, repack_q1_0>({random_bits, random_halves, 1.04},
                                                                                                       halves_are_finite<Type::q1_0, 0>);
constexpr BlockCode q2_0_code = code_of_pairs<Type::q2_0, read_q2_0, 0>(1.27);
constexpr BlockCode tq1_0_code = code_of_pairs<Type::tq1_0, read_tq1_0, 52>(1.27);
constexpr BlockCode tq2_0_code = code_of_pairs<Type::tq2_0, read_tq2_0, 64>(1.27);

}  // namespace skipstone::gguf
