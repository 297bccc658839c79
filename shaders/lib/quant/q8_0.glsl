const uint UNIT = 1;
struct Block {
  uvec4 words[2];
  float scale;
};

Block load_block(uint unit, uint block) {
  Block raw;
  raw.words[0] = weight_words(unit * 2);
  raw.words[1] = weight_words(unit * 2 + 1);
  raw.scale = scale_half(unit);
  return raw;
}

#include "lib/quant/signed_bytes.glsl"
