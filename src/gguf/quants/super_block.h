// Super-blocks of 256 weights (K-quants) with their bit fields taken apart, shared by expanding, rounding and the device's layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gguf/traits.h"

namespace skipstone::gguf {

inline constexpr std::size_t super_block_weights = 256;

/// Weight i is d * scales[g] * (codes[i] - middle) - dmin * minima[g], g = i / group; middle and group are its SuperFormat's.
struct SuperBlock {
  std::uint16_t d = 0, dmin = 0;  ///< binary16
  std::array<std::int8_t, 16> scales{};
  std::array<std::uint8_t, 16> minima{};
  std::array<std::uint8_t, super_block_weights> codes{};
};

struct SuperFormat {
  Type type;
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

/// nullptr for types without super-blocks.
const SuperFormat* find_super_format(Type type);

}  // namespace skipstone::gguf
