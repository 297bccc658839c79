#include "lib/quant/ternary_grid.glsl"
const uint UNIT = 8;
struct Block {
  uint rows, upper;
  vec2 scale;   // of weights 0..15 and 16..31
};

// Plane 0: of 8 blocks the low bytes of four rows of the grid; then of 8 blocks four times {three upper bits, whether the row is moved
// down}. Plane 1: the grid; d, and 16 scales of three bits: those of the first four blocks are the lower 24 bits of the second word; of
// those of the others, the lower 16 bits are after d, the rest after these 24.
Block load_block(uint unit, uint block) {
  const uint b = block & 7u;
  const uvec2 header = scale_pair(TABLE_WORDS / 2u + unit);
  const uint scales = ((b & 4u) == 0u ? header.y : (header.x >> 16) | ((header.y >> 24) << 16)) >> (6u * (b & 3u));
  Block raw;
  raw.rows = word_of(weight_words(unit * 3u + (b >> 2)), b);
  raw.upper = word_of(weight_words(unit * 3u + 2u), b >> 1) >> (16u * (b & 1u));
  raw.scale = unpackHalf2x16(header.x).x * vec2(ivec2(1u + 2u * uvec2(scales & 7u, (scales >> 3) & 7u)));
  return raw;
}

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const uint upper = block.upper >> (4u * part);
  const float scale = part < 2u ? block.scale.x : block.scale.y;
  expand_row(((block.rows >> (8u * part)) & 255u) | ((upper & 7u) << 8), (upper & 8u) != 0u, scale, a, b);
}
