const uint UNIT = 8, TABLE_WORDS = 256;
#include "lib/quant/grid.glsl"
struct Block {
  uvec2 rows;
  uint signs;
  float scale;
};

// Plane 0: of 8 blocks eight rows of the grid; then of 8 blocks four times seven signs and a scale. Plane 1: the grid; d of all units.
Block load_block(uint unit, uint block) {
  const uint b = block & 7u;
  Block raw;
  raw.rows = pair_of(weight_words(unit * 6u + (b >> 1)), b);
  raw.signs = word_of(weight_words(unit * 6u + 4u + (b >> 2)), b);
  raw.scale = scale_half(2u * TABLE_WORDS + unit) * (0.5 * (0.5 + float(int(raw.signs >> 28))));
  return raw;
}

#define BLOCK_SCALE
void expand_codes(Block block, uint part, out vec4 a, out vec4 b) {
  const uint rows = (part < 2u ? block.rows.x : block.rows.y) >> (16u * (part & 1u));
  const uvec2 magnitudes = uvec2(table_word(rows & 255u), table_word((rows >> 8) & 255u));
  signed_row(magnitudes, eight_signs(block.signs >> (7u * part)), a, b);
}
