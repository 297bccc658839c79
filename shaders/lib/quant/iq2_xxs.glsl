const uint UNIT = 8, TABLE_WORDS = 512;
#include "lib/quant/grid.glsl"
struct Block {
  uint rows, signs;
  float scale;
};

// Plane 0: of 8 blocks four rows of the grid; four times seven signs and a scale. Plane 1: the grid; d of all units.
Block load_block(uint unit, uint block) {
  const uint b = block & 7u;
  const uvec2 own = pair_of(weight_words(unit * 4u + (b >> 1)), b);
  Block raw;
  raw.rows = own.x;
  raw.signs = own.y;
  raw.scale = scale_half(2u * TABLE_WORDS + unit) * (0.25 * (0.5 + float(int(own.y >> 28))));
  return raw;
}

#define BLOCK_SCALE
void expand_codes(Block block, uint part, out vec4 a, out vec4 b) {
  signed_row(table_pair((block.rows >> (8u * part)) & 255u), eight_signs(block.signs >> (7u * part)), a, b);
}
