// How the block formats are written and read: the scalar reference, one family a file.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "gguf/traits.h"

namespace skipstone::gguf {

static_assert(std::endian::native == std::endian::little, "GGUF stores little-endian numbers, which this code reads in place");

/// One block (Traits::block weights, Traits::bytes bytes) in both directions. `round` is given weights that Traits::largest admits.
struct Coding {
  Type type;
  void (*expand)(const std::byte* block, float* out);
  void (*round)(const float* weights, std::byte* block);
};

/// Weights of a block of the formats that are no super-blocks.
inline constexpr std::size_t block_weights = 32;

std::span<const Coding> scaled_codings();       ///< Q8_0, Q4_0, Q4_1, Q5_0, Q5_1: a scale, or a scale and a minimum, for 32 codes
std::span<const Coding> codebook_codings();     ///< IQ4_NL: 32 codes for unevenly spaced values
std::span<const Coding> sparse_codings();       ///< SPARSE_F16, SPARSE_Q8_0: two of every four weights, and their places
std::span<const Coding> super_block_codings();  ///< Q2_K to Q6_K: 256 codes with a scale (and a minimum) for each group of them

inline std::uint16_t load16(const std::byte* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

inline void store16(std::byte* to, std::uint16_t bits) { std::memcpy(to, &bits, sizeof bits); }

}  // namespace skipstone::gguf
