const uint UNIT = 8;
struct Block {
  uvec4 words;
  uvec2 high;
  vec2 scale;   // of weights 0..15 and 16..31
};

// Plane 0: nibbles of 8 blocks, then the upper two bits of 8 blocks. Plane 1: d as a float, 16 signed bytes of scales.
Block load_block(uint unit, uint block) {
  const uint b = block & 7u;
  const uvec4 high = weight_words(unit * 12u + 8u + (b >> 1));
  const int pair = int(scale_word(unit * 5u + 1u + (b >> 1)) << (16u * (1u - (b & 1u))));
  Block raw;
  raw.words = weight_words(unit * 12u + b);
  raw.high = (b & 1u) == 0u ? high.xy : high.zw;
  raw.scale = uintBitsToFloat(scale_word(unit * 5u)) * vec2((pair << 8) >> 24, pair >> 24);
  return raw;
}

uint six_bit_codes(Block block, uint group) { return nibbles(block.words, group) | (pairs(block.high, group) << 4); }

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const float scale = part < 2u ? block.scale.x : block.scale.y;
  a = codes(six_bit_codes(block, 2u * part), 32.0) * scale;
  b = codes(six_bit_codes(block, 2u * part + 1u), 32.0) * scale;
}
