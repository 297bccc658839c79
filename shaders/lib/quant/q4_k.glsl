const uint UNIT = 8;
struct Block {
  uvec4 words;
  float scale, offset;
};

// Plane 1: d and dmin, scales and minima.
Block load_block(uint unit, uint block) {
  const uvec4 header = scale_words(unit);
  const vec2 d = unpackHalf2x16(header.x), scale = vec2(six_bits(header, block));
  Block raw;
  raw.words = weight_words(unit * 8u + (block & 7u));
  raw.scale = d.x * scale.x;
  raw.offset = -d.y * scale.y;
  return raw;
}

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const vec4 scale = vec4(block.scale), offset = vec4(block.offset);
  a = fma(codes(nibbles(block.words, 2u * part), 0.0), scale, offset);
  b = fma(codes(nibbles(block.words, 2u * part + 1u), 0.0), scale, offset);
}
