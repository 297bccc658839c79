const uint UNIT = 1;
struct Block {
  uvec4 words;
  uint fifth;
  vec2 scale;   // and minimum
};

// Plane 1: the fifth bits, scale and minimum.
Block load_block(uint unit, uint block) {
  const uvec2 beside = scale_pair(unit);
  Block raw;
  raw.words = weight_words(unit);
  raw.fifth = beside.x;
  raw.scale = unpackHalf2x16(beside.y);
  return raw;
}

uint five_bits(Block block, uint group) { return nibbles(block.words, group) | (bits(block.fifth, group) << 4); }

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const vec4 scale = vec4(block.scale.x), offset = vec4(block.scale.y);
  a = fma(codes(five_bits(block, 2u * part), 0.0), scale, offset);
  b = fma(codes(five_bits(block, 2u * part + 1u), 0.0), scale, offset);
}
