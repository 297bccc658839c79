#include "lib/quant/fp4.glsl"
const uint UNIT = 2;
struct Block {
  uvec4 words;
  vec2 scale;   // of weights 0..15 and 16..31
};

// Half of a number with four bits of exponent (bias 7) and three of mantissa; no subnormal float takes part.
float e4m3(uint byte) { return byte < 8u ? float(byte) * 0.0009765625 : uintBitsToFloat((byte << 20) + (119u << 23)); }

// Plane 1: a byte for each 16 weights.
Block load_block(uint unit, uint block) {
  const uint two = scale_word(unit) >> (16u * (block & 1u));
  Block raw;
  raw.words = weight_words(unit * 2u + (block & 1u));
  raw.scale = vec2(e4m3(two & 127u), e4m3(two >> 8 & 127u));
  return raw;
}

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const float scale = part < 2u ? block.scale.x : block.scale.y;
  a = fp4(nibbles(block.words, 2u * part)) * scale;
  b = fp4(nibbles(block.words, 2u * part + 1u)) * scale;
}
