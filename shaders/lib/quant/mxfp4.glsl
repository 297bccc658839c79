#include "lib/quant/fp4.glsl"
const uint UNIT = 1;
struct Block {
  uvec4 words;
  float scale;
};

// Plane 1: a byte e for the scale 2^(e - 128), which is subnormal for 0 and 1.
Block load_block(uint unit, uint block) {
  const uint e = scale_byte(unit);
  Block raw;
  raw.words = weight_words(unit);
  raw.scale = uintBitsToFloat(e < 2u ? 0x00200000u << e : (e - 1u) << 23);
  return raw;
}

#define BLOCK_SCALE
void expand_codes(Block block, uint part, out vec4 a, out vec4 b) {
  a = fp4(nibbles(block.words, 2u * part));
  b = fp4(nibbles(block.words, 2u * part + 1u));
}
