#include "lib/quant/ternary_grid.glsl"
const uint UNIT = 8;
struct Block {
  uint rows, header;
  float scale;
};

// Plane 0: of 8 blocks the low bytes of four rows of the grid; then of 8 blocks {four times three upper bits, 3 bits of scale, whether all
// are moved down}. Plane 1: the grid; d of all units.
Block load_block(uint unit, uint block) {
  const uint b = block & 7u;
  Block raw;
  raw.rows = word_of(weight_words(unit * 3u + (b >> 2)), b);
  raw.header = word_of(weight_words(unit * 3u + 2u), b >> 1) >> (16u * (b & 1u));
  raw.scale = scale_half(2u * TABLE_WORDS + unit) * float(int(1u + 2u * ((raw.header >> 12) & 7u)));
  return raw;
}

#define BLOCK_SCALE
void expand_codes(Block block, uint part, out vec4 a, out vec4 b) {
  const uint row = ((block.rows >> (8u * part)) & 255u) | (((block.header >> (3u * part)) & 7u) << 8);
  expand_row(row, (block.header & 0x8000u) != 0u, 1.0, a, b);
}
