const uint UNIT = 1;
struct Block {
  uvec4 words;
  uint fifth;
  float scale;
};

// Plane 1: the fifth bits, the scale as a float.
Block load_block(uint unit, uint block) {
  const uvec2 beside = scale_pair(unit);
  Block raw;
  raw.words = weight_words(unit);
  raw.fifth = beside.x;
  raw.scale = uintBitsToFloat(beside.y);
  return raw;
}

uint five_bits(Block block, uint group) { return nibbles(block.words, group) | (bits(block.fifth, group) << 4); }

#define BLOCK_SCALE
void expand_codes(Block block, uint part, out vec4 a, out vec4 b) {
  a = codes(five_bits(block, 2u * part), 16.0);
  b = codes(five_bits(block, 2u * part + 1u), 16.0);
}
