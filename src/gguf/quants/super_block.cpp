// The bit fields of block_q2_K .. block_q6_K in ggml-common.h of https://github.com/ggml-org/ggml, and of dequantize_row_q*_K in
// ggml-quants.c. Codes go in halves of 128 weights: bytes l = 0..31 hold, from their lowest bits up, weights l, 32 + l, 64 + l, 96 + l of
// the half.
#include "gguf/quants/blocks.h"

namespace skipstone::gguf {
namespace {

using SuperCodes = std::array<std::uint8_t, super_block_weights>;

// `bits` bits of every code, at `shift` in it. 2 bits: 64 bytes, four weights a byte. 1 bit: 32 bytes, bit j of byte l is of weight 32 j +
// l. 4 bits: 128 bytes, in quarters of 64 weights (`nibbles_apart` 32), or halves of 128 weights where weight l shares its byte with l
// + 64.
struct Field {
  unsigned bits, shift;
  std::size_t nibbles_apart = 32;

  struct Place {
    std::size_t byte;
    unsigned bit;
  };
  Place place(std::size_t i) const {
    if (bits == 1) return {i % 32, static_cast<unsigned>(i / 32)};
    if (bits == 2) return {i / 128 * 32 + i % 32, static_cast<unsigned>(i % 128 / 32 * 2)};
    const std::size_t pair = 2 * nibbles_apart;
    return {i / pair * nibbles_apart + i % nibbles_apart, i % pair < nibbles_apart ? 0u : 4u};
  }
  void read(const std::byte* from, SuperCodes& codes) const {
    const unsigned mask = (1u << bits) - 1u;
    for (std::size_t i = 0; i < super_block_weights; ++i) {
      const Place at = place(i);
      codes[i] = static_cast<std::uint8_t>(codes[i] | (byte_at(from, at.byte) >> at.bit & mask) << shift);
    }
  }
  void write(const SuperCodes& codes, std::byte* to) const {
    const unsigned mask = (1u << bits) - 1u;
    for (std::size_t i = 0; i < super_block_weights * bits / 8; ++i) to[i] = std::byte{0};
    for (std::size_t i = 0; i < super_block_weights; ++i) {
      const Place at = place(i);
      to[at.byte] |= static_cast<std::byte>((codes[i] >> shift & mask) << at.bit);
    }
  }
};

constexpr Field low_nibbles{4, 0}, fifth_bits{1, 4}, bit_pairs{2, 0}, third_bits{1, 2}, low_nibbles_far{4, 0, 64}, high_pairs{2, 4};

// Q2_K: 16 bytes of {4 bits scale, 4 bits minimum}, 2-bit codes, d, dmin.
SuperBlock read_q2_k(const std::byte* block) {
  SuperBlock s;
  for (std::size_t g = 0; g < 16; ++g) {
    s.scales[g] = static_cast<std::int8_t>(byte_at(block, g) & 15);
    s.minima[g] = byte_at(block, g) >> 4;
  }
  bit_pairs.read(block + 16, s.codes);
  s.d = load16(block + 80);
  s.dmin = load16(block + 82);
  return s;
}

void write_q2_k(const SuperBlock& s, std::byte* block) {
  for (std::size_t g = 0; g < 16; ++g) block[g] = static_cast<std::byte>(s.scales[g] | s.minima[g] << 4);
  bit_pairs.write(s.codes, block + 16);
  store16(block + 80, s.d);
  store16(block + 82, s.dmin);
}

// Q3_K: third bits, low two bits, 12 bytes of scales, d. The scales are 6 bits plus 32: bytes 0..7 hold the low halves of scales 0..7 and
// 8..15, bytes 8..11 the upper two bits, those of scale g at bits 2 * (g / 4) of byte 8 + g % 4.
SuperBlock read_q3_k(const std::byte* block) {
  SuperBlock s;
  third_bits.read(block, s.codes);
  bit_pairs.read(block + 32, s.codes);
  const std::byte* packed = block + 96;
  for (std::size_t g = 0; g < 16; ++g) {
    const int low = byte_at(packed, g % 8) >> (g < 8 ? 0 : 4) & 15, high = byte_at(packed, 8 + g % 4) >> (g / 4 * 2) & 3;
    s.scales[g] = static_cast<std::int8_t>((low | high << 4) - 32);
  }
  s.d = load16(block + 108);
  return s;
}

void write_q3_k(const SuperBlock& s, std::byte* block) {
  third_bits.write(s.codes, block);
  bit_pairs.write(s.codes, block + 32);
  std::byte* packed = block + 96;
  for (std::size_t i = 0; i < 12; ++i) packed[i] = std::byte{0};
  for (std::size_t g = 0; g < 16; ++g) {
    const int scale = s.scales[g] + 32;
    packed[g % 8] |= static_cast<std::byte>((scale & 15) << (g < 8 ? 0 : 4));
    packed[8 + g % 4] |= static_cast<std::byte>((scale >> 4) << (g / 4 * 2));
  }
  store16(block + 108, s.d);
}

// Q4_K and Q5_K: 12 bytes hold 8 scales and 8 minima of 6 bits. Those of groups 0..3 are the low six bits of bytes 0..3 and 4..7; of those
// of groups 4..7 the low four bits are the halves of bytes 8..11, the upper two the upper two bits of bytes 0..3 and 4..7.
void read_six_bits(const std::byte* packed, SuperBlock& s) {
  for (std::size_t g = 0; g < 4; ++g) {
    const int a = byte_at(packed, g), b = byte_at(packed, g + 4), c = byte_at(packed, g + 8);
    s.scales[g] = static_cast<std::int8_t>(a & 63);
    s.minima[g] = static_cast<std::uint8_t>(b & 63);
    s.scales[g + 4] = static_cast<std::int8_t>((c & 15) | (a >> 6) << 4);
    s.minima[g + 4] = static_cast<std::uint8_t>((c >> 4) | (b >> 6) << 4);
  }
}

void write_six_bits(const SuperBlock& s, std::byte* packed) {
  for (std::size_t g = 0; g < 4; ++g) {
    packed[g] = static_cast<std::byte>(s.scales[g] | (s.scales[g + 4] >> 4) << 6);
    packed[g + 4] = static_cast<std::byte>(s.minima[g] | (s.minima[g + 4] >> 4) << 6);
    packed[g + 8] = static_cast<std::byte>((s.scales[g + 4] & 15) | (s.minima[g + 4] & 15) << 4);
  }
}

// d, dmin, scales and minima, (fifth bits,) low nibbles.
template <bool fifth_bit>
SuperBlock read_q45_k(const std::byte* block) {
  SuperBlock s;
  s.d = load16(block);
  s.dmin = load16(block + 2);
  read_six_bits(block + 4, s);
  if (fifth_bit) fifth_bits.read(block + 16, s.codes);
  low_nibbles.read(block + (fifth_bit ? 48 : 16), s.codes);
  return s;
}

template <bool fifth_bit>
void write_q45_k(const SuperBlock& s, std::byte* block) {
  store16(block, s.d);
  store16(block + 2, s.dmin);
  write_six_bits(s, block + 4);
  if (fifth_bit) fifth_bits.write(s.codes, block + 16);
  low_nibbles.write(s.codes, block + (fifth_bit ? 48 : 16));
}

// Q6_K: low nibbles, upper two bits, 16 signed bytes of scales, d.
SuperBlock read_q6_k(const std::byte* block) {
  SuperBlock s;
  low_nibbles_far.read(block, s.codes);
  high_pairs.read(block + 128, s.codes);
  for (std::size_t g = 0; g < 16; ++g) s.scales[g] = std::bit_cast<std::int8_t>(block[192 + g]);
  s.d = load16(block + 208);
  return s;
}

void write_q6_k(const SuperBlock& s, std::byte* block) {
  low_nibbles_far.write(s.codes, block);
  high_pairs.write(s.codes, block + 128);
  for (std::size_t g = 0; g < 16; ++g) block[192 + g] = std::bit_cast<std::byte>(s.scales[g]);
  store16(block + 208, s.d);
}

Codes32 codes_of(const SuperBlock& s, std::size_t block) { return Codes32(&s.codes[block * 32], 32); }

// Two 6-bit numbers for each block of 32: their low halves in byte b, their upper two bits in half b of the four bytes after those eight.
void put_six_bits(std::size_t block, unsigned first, unsigned second, std::byte* to) {
  to[block] = static_cast<std::byte>((first & 15) | (second & 15) << 4);
  to[8 + block / 2] |= static_cast<std::byte>((first >> 4 | second >> 4 << 2) << (block % 2 * 4));
}

void put_halves(std::uint16_t first, std::uint16_t second, std::byte* to) {
  store16(to, first);
  store16(to + 2, second);
}

// Plane 1: d and dmin; 16 bytes of {scale, minimum}.
void repack_q2_k(const std::byte* block, std::byte* quants, std::byte* scales) {
  const SuperBlock s = read_q2_k(block);
  for (std::size_t b = 0; b < 8; ++b) put_pairs(codes_of(s, b), 0, quants + b * 8);
  put_halves(s.d, s.dmin, scales);
  for (std::size_t g = 0; g < 16; ++g) scales[4 + g] = static_cast<std::byte>(s.scales[g] | s.minima[g] << 4);
}

// Plane 1: d; the two scales of each block; 8 words of third bits.
void repack_q3_k(const std::byte* block, std::byte* quants, std::byte* scales) {
  const SuperBlock s = read_q3_k(block);
  put_halves(s.d, 0, scales);
  for (std::size_t b = 0; b < 8; ++b) {
    put_pairs(codes_of(s, b), 0, quants + b * 8);
    put_six_bits(b, static_cast<unsigned>(s.scales[2 * b] + 32), static_cast<unsigned>(s.scales[2 * b + 1] + 32), scales + 4);
    put_bits(codes_of(s, b), 2, scales + 16 + b * 4);
  }
}

// Plane 1: d and dmin; scale and minimum of each block; for Q5_K 8 words of fifth bits.
template <bool fifth_bit>
void repack_q45_k(const std::byte* block, std::byte* quants, std::byte* scales) {
  const SuperBlock s = read_q45_k<fifth_bit>(block);
  put_halves(s.d, s.dmin, scales);
  for (std::size_t b = 0; b < 8; ++b) {
    put_nibbles(codes_of(s, b), quants + b * 16);
    put_six_bits(b, static_cast<unsigned>(s.scales[b]), s.minima[b], scales + 4);
    if (fifth_bit) put_bits(codes_of(s, b), 4, scales + 16 + b * 4);
  }
}

// Plane 0: nibbles of all blocks, then pairs of all blocks. Plane 1: d, as a float; 16 signed bytes of scales.
void repack_q6_k(const std::byte* block, std::byte* quants, std::byte* scales) {
  const SuperBlock s = read_q6_k(block);
  for (std::size_t b = 0; b < 8; ++b) {
    put_nibbles(codes_of(s, b), quants + b * 16);
    put_pairs(codes_of(s, b), 4, quants + 128 + b * 8);
  }
  put_float(half_to_float(s.d), scales);
  for (std::size_t g = 0; g < 16; ++g) scales[4 + g] = std::bit_cast<std::byte>(s.scales[g]);
}

constexpr SuperFormat q2_k_format{16, 2, true, 0, 15, read_q2_k, write_q2_k};
constexpr SuperFormat q3_k_format{16, 3, false, -32, 31, read_q3_k, write_q3_k};
constexpr SuperFormat q4_k_format{32, 4, true, 0, 63, read_q45_k<false>, write_q45_k<false>};
constexpr SuperFormat q5_k_format{32, 5, true, 0, 63, read_q45_k<true>, write_q45_k<true>};
constexpr SuperFormat q6_k_format{16, 6, false, -128, 127, read_q6_k, write_q6_k};

template <const SuperFormat& format>
void expand_super(const std::byte* block, float* out) {
  expand_super_block(format, block, out);
}

template <const SuperFormat& format>
void round_super(const float* weights, std::byte* block, const float* importance) {
  round_super_block(format, weights, block, importance);
}

template <Type type, const SuperFormat& format, auto repack>
constexpr BlockCode code_of_super_blocks(const RandomPattern& scales, double size,
                                         decltype(BlockCode::scales_are_finite) scales_are_finite) {
  return code_of_blocks<type, expand_super<format>, repack, round_super<format>>({random_bits, scales, size}, scales_are_finite);
}

}  // namespace

constexpr BlockCode q2_k_code =
    code_of_super_blocks<Type::q2_k, q2_k_format, repack_q2_k>(scale_and_minimum(10, 1.5f), 15.1, halves_are_finite<Type::q2_k, 80, 82>);
constexpr BlockCode q3_k_code = code_of_super_blocks<Type::q3_k, q3_k_format, repack_q3_k>({RandomPattern::Number::f16, 24, 1}, 45.1,
                                                                                           halves_are_finite<Type::q3_k, 108>);
constexpr BlockCode q4_k_code = code_of_super_blocks<Type::q4_k, q4_k_format, repack_q45_k<false>>(scale_and_minimum(8, 7.5f), 286.0,
                                                                                                   halves_are_finite<Type::q4_k, 0, 2>);
constexpr BlockCode q5_k_code = code_of_super_blocks<Type::q5_k, q5_k_format, repack_q45_k<true>>(scale_and_minimum(24, 15.5f), 583.0,
                                                                                                  halves_are_finite<Type::q5_k, 0, 2>);
constexpr BlockCode q6_k_code = code_of_super_blocks<Type::q6_k, q6_k_format, repack_q6_k>({RandomPattern::Number::f32, 10, 1}, 1420.0,
                                                                                           halves_are_finite<Type::q6_k, 208>);

}  // namespace skipstone::gguf
