const uint UNIT = 8;
struct Block {
  uvec2 words;
  uint third;
  vec2 scale;   // of weights 0..15 and 16..31
};

// Plane 1: d and the scales, which are 6 bits plus 32; the third bits of 8 blocks.
Block load_block(uint unit, uint block) {
  const uint b = block & 7u;
  const uvec4 header = scale_words(unit * 3u), four = weight_words(unit * 4u + (b >> 1));
  Block raw;
  raw.words = (b & 1u) == 0u ? four.xy : four.zw;
  raw.third = scale_word(unit * 12u + 4u + b);
  raw.scale = unpackHalf2x16(header.x).x * (vec2(six_bits(header, b)) - 32.0);
  return raw;
}

uint three_bits(Block block, uint group) { return pairs(block.words, group) | (bits(block.third, group) << 2); }

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const float scale = part < 2u ? block.scale.x : block.scale.y;
  a = codes(three_bits(block, 2u * part), 4.0) * scale;
  b = codes(three_bits(block, 2u * part + 1u), 4.0) * scale;
}
