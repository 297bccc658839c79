#include "lib/quant/codebook.glsl"
const uint UNIT = 1;

Block load_block(uint unit, uint block) {
  Block raw;
  raw.words = weight_words(unit);
  raw.scale = scale_half(unit);
  return raw;
}
