const uint UNIT = 8, TABLE_WORDS = 512;
#include "lib/quant/grid.glsl"
struct Block {
  uvec2 rows;
  uint ninth, signs;
  float scale;
};

// Plane 0: of 8 blocks the low bytes of eight rows of the grid; then of 8 blocks 32 signs. Plane 1: the grid; d as a float, 8 scales, of 8
// blocks the ninth bits of the rows.
Block load_block(uint unit, uint block) {
  const uint b = block & 7u;
  const uvec4 header = scale_words(TABLE_WORDS / 4u + unit);
  Block raw;
  raw.rows = pair_of(weight_words(unit * 6u + (b >> 1)), b);
  raw.ninth = ((b & 4u) == 0u ? header.z : header.w) >> (8u * (b & 3u));
  raw.signs = word_of(weight_words(unit * 6u + 4u + (b >> 2)), b);
  raw.scale = uintBitsToFloat(header.x) * float(int(1u + 2u * ((header.y >> (4u * b)) & 15u)));
  return raw;
}

#define BLOCK_SCALE
void expand_codes(Block block, uint part, out vec4 a, out vec4 b) {
  const uint rows = (part < 2u ? block.rows.x : block.rows.y) >> (16u * (part & 1u));
  const uint ninth = block.ninth >> (2u * part);
  const uvec2 magnitudes = uvec2(table_word((rows & 255u) | ((ninth & 1u) << 8)), table_word(((rows >> 8) & 255u) | ((ninth & 2u) << 7)));
  signed_row(magnitudes, block.signs >> (8u * part), a, b);
}
