// The bit fields of block_q2_K .. block_q6_K in ggml-common.h of https://github.com/ggml-org/ggml, and of dequantize_row_q*_K in
// ggml-quants.c. Codes go in halves of 128 weights: bytes l = 0..31 hold, from their lowest bits up, weights l, 32 + l, 64 + l, 96 + l of
// the half.
#include "gguf/quants/super_block.h"

#include "gguf/quants/coding.h"

namespace skipstone::gguf {
namespace {

using Codes = std::array<std::uint8_t, super_block_weights>;

std::uint8_t byte_at(const std::byte* from, std::size_t i) { return std::to_integer<std::uint8_t>(from[i]); }

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
  void read(const std::byte* from, Codes& codes) const {
    const unsigned mask = (1u << bits) - 1u;
    for (std::size_t i = 0; i < super_block_weights; ++i) {
      const Place at = place(i);
      codes[i] = static_cast<std::uint8_t>(codes[i] | (byte_at(from, at.byte) >> at.bit & mask) << shift);
    }
  }
  void write(const Codes& codes, std::byte* to) const {
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

constexpr SuperFormat formats[] = {
    {Type::q2_k, 16, 2, true, 0, 15, read_q2_k, write_q2_k},
    {Type::q3_k, 16, 3, false, -32, 31, read_q3_k, write_q3_k},
    {Type::q4_k, 32, 4, true, 0, 63, read_q45_k<false>, write_q45_k<false>},
    {Type::q5_k, 32, 5, true, 0, 63, read_q45_k<true>, write_q45_k<true>},
    {Type::q6_k, 16, 6, false, -128, 127, read_q6_k, write_q6_k},
};

}  // namespace

const SuperFormat* find_super_format(Type type) {
  for (const SuperFormat& format : formats) {
    if (format.type == type) return &format;
  }
  return nullptr;
}

}  // namespace skipstone::gguf
