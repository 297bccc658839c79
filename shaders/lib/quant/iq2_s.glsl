const uint UNIT = 8, TABLE_WORDS = 2048;
#include "lib/quant/grid.glsl"
struct Block {
  uint rows, upper, signs;
  vec2 scale;   // of weights 0..15 and 16..31
};

// Plane 0: of 8 blocks the low bytes of four rows of the grid; 32 signs. Plane 1: the grid; d as a float, of 8 blocks the upper two bits of
// the rows and two scales.
Block load_block(uint unit, uint block) {
  const uint b = block & 7u, header = TABLE_WORDS + unit * 5u;
  const uvec2 own = pair_of(weight_words(unit * 4u + (b >> 1)), b);
  const uint more = scale_word(header + 1u + (b >> 1)) >> (16u * (b & 1u));
  Block raw;
  raw.rows = own.x;
  raw.upper = more;
  raw.signs = own.y;
  raw.scale = uintBitsToFloat(scale_word(header)) * (0.25 * (0.5 + vec2(ivec2((more >> 8) & 15u, (more >> 12) & 15u))));
  return raw;
}

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const uint row = ((block.rows >> (8u * part)) & 255u) | (((block.upper >> (2u * part)) & 3u) << 8);
  scaled_row(table_pair(row), block.signs >> (8u * part), part < 2u ? block.scale.x : block.scale.y, a, b);
}
