#include "lib/quant/sparse.glsl"
const uint UNIT = 2;
struct Block {
  uvec4 words;
  uint places;
  float scale;
};

// Plane 0: the signed bytes of two blocks. Plane 1: the scale as a float, the places of either block.
Block load_block(uint unit, uint block) {
  Block raw;
  raw.words = weight_words(unit * 2u + (block & 1u));
  raw.places = scale_word(unit * 3u + 1u + (block & 1u));
  raw.scale = uintBitsToFloat(scale_word(unit * 3u));
  return raw;
}

#define BLOCK_SCALE
void expand_codes(Block block, uint part, out vec4 a, out vec4 b) {
  const int four = int(block.words[part]);
  const uint places = block.places >> (8u * part);
  a = spread(vec2((four << 24) >> 24, (four << 16) >> 24), places);
  b = spread(vec2((four << 8) >> 24, four >> 24), places >> 4);
}
