#include "lib/quant/sparse.glsl"
const uint UNIT = 1;
struct Block {
  uvec4 words[2];
  uint places;
};

// Plane 1: the places of eight groups of four.
Block load_block(uint unit, uint block) {
  Block raw;
  raw.words[0] = weight_words(unit * 2u);
  raw.words[1] = weight_words(unit * 2u + 1u);
  raw.places = scale_word(unit);
  return raw;
}

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const uvec4 four = part < 2u ? block.words[0] : block.words[1];
  const uvec2 w = (part & 1u) == 0u ? four.xy : four.zw;
  const uint places = block.places >> (8u * part);
  a = spread(unpackHalf2x16(w.x), places);
  b = spread(unpackHalf2x16(w.y), places >> 4);
}
