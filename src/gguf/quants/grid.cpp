// IQ2 and IQ3 (block_iq2_xxs .. block_iq3_s in ggml-common.h of https://github.com/ggml-org/ggml, and dequantize_row_iq* in ggml-quants.c):
// a code chooses the magnitudes of four or eight weights, a row of the format's grid; each weight has a bit of sign.
#include "gguf/quants/blocks.h"
#include "gguf/quants/grids.h"

namespace skipstone::gguf {
namespace {

constexpr std::size_t blocks_of_unit = 8;

// Magnitudes by level. Grids as they are looked up: a byte a weight.
constexpr std::array<std::uint32_t, 3> magnitudes_of_eight = {8, 25, 43};
constexpr std::array<std::uint32_t, 8> magnitudes_of_iq3_xxs = {4, 12, 20, 28, 36, 44, 52, 62},
                                       magnitudes_of_iq3_s = {1, 3, 5, 7, 9, 11, 13, 15};

template <std::size_t rows>
constexpr auto grid_of_eight(const std::array<std::uint16_t, rows>& levels) {
  std::array<std::uint32_t, 2 * rows> words{};
  for (std::size_t i = 0; i < 8 * rows; ++i) words[i / 4] |= magnitudes_of_eight[levels[i / 8] >> i % 8 * 2 & 3] << i % 4 * 8;
  return words;
}

template <std::size_t rows>
constexpr auto grid_of_four(const std::array<std::uint16_t, rows>& levels, const std::array<std::uint32_t, 8>& magnitudes) {
  std::array<std::uint32_t, rows> words{};
  for (std::size_t i = 0; i < 4 * rows; ++i) words[i / 4] |= magnitudes[levels[i / 4] >> i % 4 * 4 & 7] << i % 4 * 8;
  return words;
}

constexpr auto iq2_xxs_grid = grid_of_eight(iq2_xxs_levels);
constexpr auto iq2_xs_grid = grid_of_eight(iq2_xs_levels);
constexpr auto iq2_s_grid = grid_of_eight(iq2_s_levels);
constexpr auto iq3_xxs_grid = grid_of_four(iq3_xxs_levels, magnitudes_of_iq3_xxs);
constexpr auto iq3_s_grid = grid_of_four(iq3_s_levels, magnitudes_of_iq3_s);

/// The weights of `words` words of a grid; bit i of `signs`: weight i is negative.
template <std::size_t words>
void expand_row(const std::uint32_t* row, unsigned signs, float scale, float* out) {
  for (std::size_t i = 0; i < 4 * words; ++i) {
    const auto magnitude = static_cast<float>(row[i / 4] >> i % 4 * 8 & 255u);
    out[i] = scale * ((signs >> i & 1u) != 0 ? -magnitude : magnitude);
  }
}

/// Seven signs and the eighth, which makes the number of negative weights even.
unsigned eight_signs(std::uint32_t seven) {
  seven &= 127u;
  return seven | (static_cast<unsigned>(std::popcount(seven)) & 1u) << 7;
}

/// A scale of four bits and a half.
float four_bits(unsigned bits) { return static_cast<float>(bits & 15u) + 0.5f; }

// d, for each 32 weights {4 rows of 8 bits, 4 x 7 signs, 4 bits of scale}.
void expand_iq2_xxs(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (std::size_t b = 0; b < blocks_of_unit; ++b) {
    const std::byte* rows = block + 2 + 8 * b;
    const std::uint32_t signs = load32(rows + 4);
    for (std::size_t l = 0; l < 4; ++l)
      expand_row<2>(&iq2_xxs_grid[std::size_t{2} * byte_at(rows, l)], eight_signs(signs >> 7 * l), d * four_bits(signs >> 28) * 0.25f,
                    out + 32 * b + 8 * l);
  }
}

// d, 32 x {9 bits of a row, 7 signs}, 16 scales of 4 bits.
void expand_iq2_xs(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (std::size_t l = 0; l < 32; ++l) {
    const unsigned code = load16(block + 2 + 2 * l), scale = byte_at(block, 66 + l / 4) >> (l % 4 < 2 ? 0 : 4);
    expand_row<2>(&iq2_xs_grid[std::size_t{2} * (code & 511u)], eight_signs(code >> 9), d * four_bits(scale) * 0.25f, out + 8 * l);
  }
}

// d, the low bytes of 32 rows, 32 bytes of signs, the upper two bits of the rows, 16 scales of 4 bits.
void expand_iq2_s(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (std::size_t l = 0; l < 32; ++l) {
    const unsigned row = byte_at(block, 2 + l) | (byte_at(block, 66 + l / 4) >> l % 4 * 2 & 3u) << 8;
    const unsigned scale = byte_at(block, 74 + l / 4) >> (l % 4 < 2 ? 0 : 4);
    expand_row<2>(&iq2_s_grid[std::size_t{2} * row], byte_at(block, 34 + l), d * four_bits(scale) * 0.25f, out + 8 * l);
  }
}

// d, 64 rows of 8 bits, for each 32 weights {4 x 7 signs, 4 bits of scale}.
void expand_iq3_xxs(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (std::size_t l = 0; l < 64; ++l) {
    const std::uint32_t signs = load32(block + 66 + l / 8 * 4);
    expand_row<1>(&iq3_xxs_grid[byte_at(block, 2 + l)], eight_signs(signs >> l % 8 / 2 * 7) >> l % 2 * 4, d * four_bits(signs >> 28) * 0.5f,
                  out + 4 * l);
  }
}

// d, the low bytes of 64 rows, their ninth bits, 32 bytes of signs, 8 scales of 4 bits.
void expand_iq3_s(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (std::size_t l = 0; l < 64; ++l) {
    const unsigned row = byte_at(block, 2 + l) | (byte_at(block, 66 + l / 8) >> l % 8 & 1u) << 8;
    const unsigned scale = byte_at(block, 106 + l / 16) >> l / 8 % 2 * 4 & 15u;
    expand_row<1>(&iq3_s_grid[row], byte_at(block, 74 + l / 2) >> l % 2 * 4, d * static_cast<float>(1 + 2 * scale), out + 4 * l);
  }
}

// Plane 1: d as a float; 16 scales.
void repack_iq2_xs(const std::byte* block, std::byte* quants, std::byte* scales) {
  put_float(half_at(block), scales);
  std::memcpy(scales + 4, block + 66, 8);
  std::memcpy(quants, block + 2, 64);
}

// Plane 0: for each 32 weights {4 low bytes of rows, 4 bytes of signs}. Plane 1: d as a float; for each 32 weights {upper bits of rows, two
// scales}.
void repack_iq2_s(const std::byte* block, std::byte* quants, std::byte* scales) {
  put_float(half_at(block), scales);
  for (std::size_t b = 0; b < blocks_of_unit; ++b) {
    std::memcpy(quants + 8 * b, block + 2 + 4 * b, 4);
    std::memcpy(quants + 8 * b + 4, block + 34 + 4 * b, 4);
    scales[4 + 2 * b] = block[66 + b];
    scales[5 + 2 * b] = block[74 + b];
  }
}

// Plane 0: the low bytes of rows, signs. Plane 1: d as a float; 8 scales; the ninth bits of rows.
void repack_iq3_s(const std::byte* block, std::byte* quants, std::byte* scales) {
  put_float(half_at(block), scales);
  std::memcpy(scales + 4, block + 106, 4);
  std::memcpy(scales + 8, block + 66, 8);
  std::memcpy(quants, block + 2, 64);
  std::memcpy(quants + 64, block + 74, 32);
}

template <Type type, auto expand, auto repack, const auto& grid>
constexpr BlockCode code_of_grid(const RandomPattern& scales, double size) {
  BlockCode code = code_of_blocks<type, expand, repack>({random_bits, scales, size}, halves_are_finite<type, 0>);
  static_assert(sizeof grid % 256 == 0);
  code.table = grid;
  return code;
}

constexpr RandomPattern float_of(std::uint32_t unit_halves) { return {RandomPattern::Number::f32, unit_halves, 1}; }

}  // namespace

constexpr BlockCode iq2_xxs_code = code_of_grid<Type::iq2_xxs, expand_iq2_xxs, split_block<2, 64>, iq2_xxs_grid>(random_halves, 55.54);
constexpr BlockCode iq2_xs_code = code_of_grid<Type::iq2_xs, expand_iq2_xs, repack_iq2_xs, iq2_xs_grid>(float_of(6), 58.18);
constexpr BlockCode iq2_s_code = code_of_grid<Type::iq2_s, expand_iq2_s, repack_iq2_s, iq2_s_grid>(float_of(10), 58.69);
constexpr BlockCode iq3_xxs_code = code_of_grid<Type::iq3_xxs, expand_iq3_xxs, split_block<2, 96>, iq3_xxs_grid>(random_halves, 148.2);
constexpr BlockCode iq3_s_code = code_of_grid<Type::iq3_s, expand_iq3_s, repack_iq3_s, iq3_s_grid>(float_of(8), 146.0);

}  // namespace skipstone::gguf
