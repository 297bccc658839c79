const uint UNIT = 8, TABLE_WORDS = 1024;
#include "lib/quant/grid.glsl"
struct Block {
  uvec2 codes;
  vec2 scale;   // of weights 0..15 and 16..31
};

// Plane 0: of 8 blocks four times {9 bits of a row of the grid, 7 signs}. Plane 1: the grid; d as a float, 16 scales.
Block load_block(uint unit, uint block) {
  const uint b = block & 7u, header = TABLE_WORDS + unit * 3u;
  const uint scales = scale_word(header + 1u + (b >> 2)) >> (8u * (b & 3u));
  Block raw;
  raw.codes = pair_of(weight_words(unit * 4u + (b >> 1)), b);
  raw.scale = uintBitsToFloat(scale_word(header)) * (0.25 * (0.5 + vec2(ivec2(scales & 15u, (scales >> 4) & 15u))));
  return raw;
}

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const uint code = (part < 2u ? block.codes.x : block.codes.y) >> (16u * (part & 1u));
  scaled_row(table_pair(code & 511u), eight_signs(code >> 9), part < 2u ? block.scale.x : block.scale.y, a, b);
}
