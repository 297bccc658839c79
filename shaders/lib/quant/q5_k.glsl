const uint UNIT = 8;
struct Block {
  uvec4 words;
  uint fifth;
  float scale, offset;
};

// Plane 1: d and dmin, scales and minima; the fifth bits of 8 blocks.
Block load_block(uint unit, uint block) {
  const uint b = block & 7u;
  const uvec4 header = scale_words(unit * 3u);
  const vec2 d = unpackHalf2x16(header.x), scale = vec2(six_bits(header, b));
  Block raw;
  raw.words = weight_words(unit * 8u + b);
  raw.fifth = scale_word(unit * 12u + 4u + b);
  raw.scale = d.x * scale.x;
  raw.offset = -d.y * scale.y;
  return raw;
}

uint five_bits(Block block, uint group) { return nibbles(block.words, group) | (bits(block.fifth, group) << 4); }

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const vec4 scale = vec4(block.scale), offset = vec4(block.offset);
  a = fma(codes(five_bits(block, 2u * part), 0.0), scale, offset);
  b = fma(codes(five_bits(block, 2u * part + 1u), 0.0), scale, offset);
}
