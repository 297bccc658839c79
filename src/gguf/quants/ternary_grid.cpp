// IQ1 (block_iq1_s and block_iq1_m in ggml-common.h of https://github.com/ggml-org/ggml, dequantize_row_iq1_* in ggml-quants.c): a code
// chooses a row of eight weights -1, 0 or 1, which are all moved by an eighth, up or down.
#include "gguf/quants/blocks.h"
#include "gguf/quants/grids.h"

namespace skipstone::gguf {
namespace {

/// As it is looked up: rows of 16 bits, two a word.
constexpr auto iq1_grid = [] {
  std::array<std::uint32_t, iq1_levels.size() / 2> words{};
  for (std::size_t row = 0; row < iq1_levels.size(); ++row) words[row / 2] |= std::uint32_t{iq1_levels[row]} << row % 2 * 16;
  return words;
}();

void expand_ternary(std::size_t row, bool down, float scale, float* out) {
  const float moved = down ? -0.125f : 0.125f;
  for (std::size_t i = 0; i < 8; ++i) out[i] = scale * (static_cast<float>(static_cast<int>(iq1_levels[row] >> 2 * i & 3) - 1) + moved);
}

/// A scale of three bits.
float odd_scale(unsigned bits) { return static_cast<float>(2 * (bits & 7u) + 1); }

// d, the low bytes of 32 rows, for each 32 weights {4 x 3 upper bits of rows, 3 bits of scale, whether they are moved down}.
void expand_iq1_s(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (std::size_t l = 0; l < 32; ++l) {
    const unsigned header = load16(block + 34 + l / 4 * 2), row = byte_at(block, 2 + l) | (header >> l % 4 * 3 & 7u) << 8;
    expand_ternary(row, (header >> 15) != 0, d * odd_scale(header >> 12), out + 8 * l);
  }
}

std::uint16_t scale_in_pieces(const std::byte* block) {
  std::uint32_t bits = 0;
  for (std::size_t j = 0; j < 4; ++j) bits |= static_cast<std::uint32_t>(load16(block + 48 + 2 * j) >> 12) << 4 * j;
  return static_cast<std::uint16_t>(bits);
}

// The low bytes of 32 rows; for each of them 3 upper bits and whether it is moved down; 4 x {4 scales of 3 bits, 4 bits of d}.
void expand_iq1_m(const std::byte* block, float* out) {
  const float d = half_to_float(scale_in_pieces(block));
  for (std::size_t l = 0; l < 32; ++l) {
    const unsigned upper = byte_at(block, 32 + l / 2) >> l % 2 * 4, scale = load16(block + 48 + l / 8 * 2) >> l % 8 / 2 * 3;
    expand_ternary(byte_at(block, l) | (upper & 7u) << 8, (upper & 8u) != 0, d * odd_scale(scale), out + 8 * l);
  }
}

// Plane 1: d and the lower 16 bits of the last two groups of four scales; the first two groups and the upper 8 bits of the last two.
void repack_iq1_m(const std::byte* block, std::byte* quants, std::byte* scales) {
  std::memcpy(quants, block, 48);
  const auto group = [&](std::size_t j) { return std::uint32_t{load16(block + 48 + 2 * j)} & 0xfffu; };
  const std::uint32_t last = group(2) | group(3) << 12;
  store32(scales, scale_in_pieces(block) | last << 16);
  store32(scales + 4, group(0) | group(1) << 12 | last >> 16 << 24);
}

bool is_finite_iq1_m(const std::byte* block) { return not_finite(scale_in_pieces(block)) == 0; }

template <Type type, auto expand, auto repack>
constexpr BlockCode code_of_ternary_grid(const RandomPattern& scales, double size,
                                         decltype(BlockCode::scales_are_finite) scales_are_finite) {
  BlockCode code = code_of_blocks<type, expand, repack>({random_bits, scales, size}, scales_are_finite);
  static_assert(sizeof iq1_grid % 256 == 0);
  code.table = iq1_grid;
  return code;
}

}  // namespace

constexpr BlockCode iq1_s_code =
    code_of_ternary_grid<Type::iq1_s, expand_iq1_s, split_block<2, 48>>(random_halves, 7.494, halves_are_finite<Type::iq1_s, 0>);
constexpr BlockCode iq1_m_code = code_of_ternary_grid<Type::iq1_m, expand_iq1_m, repack_iq1_m>(
    {RandomPattern::Number::f16, 4, 1}, 7.494, all_are_finite<Type::iq1_m, is_finite_iq1_m>);

}  // namespace skipstone::gguf
