const uint UNIT = 8;
struct Block {
  uvec4 words[2];
  float scale;
};

// Plane 1: the scale as a float.
Block load_block(uint unit, uint block) {
  const uint at = unit * 16u + (block & 7u) * 2u;
  Block raw;
  raw.words[0] = weight_words(at);
  raw.words[1] = weight_words(at + 1u);
  raw.scale = uintBitsToFloat(scale_word(unit));
  return raw;
}
#include "lib/quant/signed_bytes.glsl"
