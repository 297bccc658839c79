// Where blocks of a file have their scales and minima, and whether these are numbers.
#include <algorithm>
#include <array>

#include "gguf/quants/blocks.h"

namespace skipstone::gguf {
namespace {

constexpr std::size_t no_minimum = 0xffff;

/// binary16 numbers of a block.
struct Halves {
  Type type;
  std::size_t scale, minimum = no_minimum;
};

constexpr std::array half_scales{
    Halves{Type::q8_0, 0},   Halves{Type::q4_0, 0},      Halves{Type::q4_1, 0, 2},     Halves{Type::q5_0, 0},    Halves{Type::q5_1, 0, 2},
    Halves{Type::iq4_nl, 0}, Halves{Type::q2_k, 80, 82}, Halves{Type::q3_k, 108},      Halves{Type::q4_k, 0, 2}, Halves{Type::q5_k, 0, 2},
    Halves{Type::q6_k, 208}, Halves{Type::iq2_xxs, 0},   Halves{Type::iq2_xs, 0},      Halves{Type::iq2_s, 0},   Halves{Type::iq3_xxs, 0},
    Halves{Type::iq3_s, 0},  Halves{Type::iq1_s, 0},     Halves{Type::iq4_xs, 0},      Halves{Type::q1_0, 0},    Halves{Type::q2_0, 0},
    Halves{Type::tq1_0, 52}, Halves{Type::tq2_0, 64},    Halves{Type::sparse_q8_0, 0},
};

/// A bit that is set where the exponent of a half has all bits: infinities and NaN.
unsigned not_finite(unsigned half) { return ((half & 0x7c00u) + 0x400u) & 0x8000u; }

bool are_finite(const std::byte* blocks, std::size_t count, std::size_t bytes, std::size_t at) {
  unsigned bad = 0;
  for (std::size_t b = 0; b < count; ++b) bad |= not_finite(load16(blocks + b * bytes + at));
  return bad == 0;
}

/// The code of one byte that is no number: the MX formats' specification has it so.
bool is_number_e8m0(const std::byte* block) { return block[0] != std::byte{0xff}; }

bool is_number_q8_k(const std::byte* block) {
  float scale;
  std::memcpy(&scale, block, sizeof scale);
  return std::isfinite(scale);
}

/// Bits 12 to 15 of four numbers from byte 48 on are those of a half, the lowest first.
bool is_number_iq1_m(const std::byte* block) {
  const unsigned third = load16(block + 52), fourth = load16(block + 54);
  return not_finite((third >> 4 & 0x0f00u) | (fourth & 0xf000u)) == 0;
}

bool all_are_numbers(const std::byte* blocks, std::size_t count, std::size_t bytes, bool (*is_number)(const std::byte*)) {
  for (std::size_t b = 0; b < count; ++b) {
    if (!is_number(blocks + b * bytes)) return false;
  }
  return true;
}

}  // namespace

bool scales_are_finite(Type type, const std::byte* blocks, std::size_t count) {
  const std::size_t bytes = traits(type).bytes;
  if (type == Type::mxfp4) return all_are_numbers(blocks, count, bytes, is_number_e8m0);
  if (type == Type::q8_k) return all_are_numbers(blocks, count, bytes, is_number_q8_k);
  if (type == Type::iq1_m) return all_are_numbers(blocks, count, bytes, is_number_iq1_m);
  const auto row = std::ranges::find(half_scales, type, &Halves::type);
  if (row == half_scales.end()) return true;
  return are_finite(blocks, count, bytes, row->scale) && (row->minimum == no_minimum || are_finite(blocks, count, bytes, row->minimum));
}

}  // namespace skipstone::gguf
