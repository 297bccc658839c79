#include "model/repack_unit.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/half.h"
#include "base/status.h"
#include "gguf/quants/super_block.h"

namespace skipstone::model {
namespace {

// Fields of 32 weights, as shaders/lib/quant.glsl takes them apart (four weights in the four bytes of a word at a time):
// nibbles: 16 bytes; byte j has weight j in its low half and weight 16 + j in its high half (the order of Q4_0 in files);
// pairs: 8 bytes; byte j % 4 of word j / 16 has weight j at bits 2 * (j / 4 % 4);
// bits: 4 bytes; byte j % 4 has weight j at bit j / 4.
using Codes = std::span<const std::uint8_t, 32>;

void put_nibbles(Codes codes, std::byte* to) {
  for (std::size_t j = 0; j < 16; ++j) to[j] = static_cast<std::byte>((codes[j] & 15) | (codes[j + 16] & 15) << 4);
}

void put_pairs(Codes codes, unsigned shift, std::byte* to) {
  for (std::size_t j = 0; j < 32; ++j) to[j / 16 * 4 + j % 4] |= static_cast<std::byte>((codes[j] >> shift & 3) << (j / 4 % 4 * 2));
}

void put_bits(Codes codes, unsigned shift, std::byte* to) {
  for (std::size_t j = 0; j < 32; ++j) to[j % 4] |= static_cast<std::byte>((codes[j] >> shift & 1) << (j / 4));
}

void put_float(float value, std::byte* to) { std::memcpy(to, &value, sizeof value); }

float half_at(const std::byte* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return half_to_float(bits);
}

// {scale (, minimum) or places, codes}: both go as they are.
template <std::size_t header, std::size_t codes>
void split(const std::byte* block, std::byte* quants, std::byte* scales) {
  std::memcpy(scales, block, header);
  std::memcpy(quants, block + header, codes);
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

using gguf::SuperBlock;

Codes codes_of(const SuperBlock& s, std::size_t block) { return Codes(&s.codes[block * 32], 32); }

SuperBlock read(gguf::Type type, const std::byte* block) { return gguf::find_super_format(type)->read(block); }

// Two 6-bit numbers for each block of 32: their low halves in byte b, their upper two bits in half b of the four bytes after those eight.
void put_six_bits(std::size_t block, unsigned first, unsigned second, std::byte* to) {
  to[block] = static_cast<std::byte>((first & 15) | (second & 15) << 4);
  to[8 + block / 2] |= static_cast<std::byte>((first >> 4 | second >> 4 << 2) << (block % 2 * 4));
}

void put_halves(std::uint16_t first, std::uint16_t second, std::byte* to) {
  std::memcpy(to, &first, 2);
  std::memcpy(to + 2, &second, 2);
}

// Plane 1: d and dmin; 16 bytes of {scale, minimum}.
void repack_q2_k(const std::byte* block, std::byte* quants, std::byte* scales) {
  const SuperBlock s = read(gguf::Type::q2_k, block);
  for (std::size_t b = 0; b < 8; ++b) put_pairs(codes_of(s, b), 0, quants + b * 8);
  put_halves(s.d, s.dmin, scales);
  for (std::size_t g = 0; g < 16; ++g) scales[4 + g] = static_cast<std::byte>(s.scales[g] | s.minima[g] << 4);
}

// Plane 1: d; the two scales of each block; 8 words of third bits.
void repack_q3_k(const std::byte* block, std::byte* quants, std::byte* scales) {
  const SuperBlock s = read(gguf::Type::q3_k, block);
  put_halves(s.d, 0, scales);
  for (std::size_t b = 0; b < 8; ++b) {
    put_pairs(codes_of(s, b), 0, quants + b * 8);
    put_six_bits(b, static_cast<unsigned>(s.scales[2 * b] + 32), static_cast<unsigned>(s.scales[2 * b + 1] + 32), scales + 4);
    put_bits(codes_of(s, b), 2, scales + 16 + b * 4);
  }
}

// Plane 1: d and dmin; scale and minimum of each block; for Q5_K 8 words of fifth bits.
template <gguf::Type type>
void repack_q45_k(const std::byte* block, std::byte* quants, std::byte* scales) {
  const SuperBlock s = read(type, block);
  put_halves(s.d, s.dmin, scales);
  for (std::size_t b = 0; b < 8; ++b) {
    put_nibbles(codes_of(s, b), quants + b * 16);
    put_six_bits(b, static_cast<unsigned>(s.scales[b]), s.minima[b], scales + 4);
    if (type == gguf::Type::q5_k) put_bits(codes_of(s, b), 4, scales + 16 + b * 4);
  }
}

// Plane 0: nibbles of all blocks, then pairs of all blocks. Plane 1: d, as a float; 16 signed bytes of scales.
void repack_q6_k(const std::byte* block, std::byte* quants, std::byte* scales) {
  const SuperBlock s = read(gguf::Type::q6_k, block);
  for (std::size_t b = 0; b < 8; ++b) {
    put_nibbles(codes_of(s, b), quants + b * 16);
    put_pairs(codes_of(s, b), 4, quants + 128 + b * 8);
  }
  put_float(half_to_float(s.d), scales);
  for (std::size_t g = 0; g < 16; ++g) scales[4 + g] = std::bit_cast<std::byte>(s.scales[g]);
}

// Plane 1: the scale as a float, the places of both blocks of 32.
void repack_sparse_q8_0(const std::byte* block, std::byte* quants, std::byte* scales) {
  put_float(half_at(block), scales);
  std::memcpy(scales + 4, block + 2, 8);
  std::memcpy(quants, block + 10, 32);
}

}  // namespace

RepackUnit repack_unit(gguf::Type type) {
  switch (type) {
    case gguf::Type::f32:
    case gguf::Type::f16:
    case gguf::Type::bf16:
      return nullptr;
    case gguf::Type::q8_0:
      return split<2, 32>;
    case gguf::Type::q4_0:
    case gguf::Type::iq4_nl:
      return split<2, 16>;
    case gguf::Type::q4_1:
      return split<4, 16>;
    case gguf::Type::q5_0:
      return repack_q5_0;
    case gguf::Type::q5_1:
      return repack_q5_1;
    case gguf::Type::q2_k:
      return repack_q2_k;
    case gguf::Type::q3_k:
      return repack_q3_k;
    case gguf::Type::q4_k:
      return repack_q45_k<gguf::Type::q4_k>;
    case gguf::Type::q5_k:
      return repack_q45_k<gguf::Type::q5_k>;
    case gguf::Type::q6_k:
      return repack_q6_k;
    case gguf::Type::sparse_f16:
      return split<4, 32>;
    case gguf::Type::sparse_q8_0:
      return repack_sparse_q8_0;
    case gguf::Type::i8:
      break;
  }
  fail(Code::unsupported, "there is no device layout for weights of type {}", gguf::traits(type).name);
}

}  // namespace skipstone::model
