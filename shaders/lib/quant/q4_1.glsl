const uint UNIT = 1;
struct Block {
  uvec4 words;
  vec2 scale;   // and minimum
};

Block load_block(uint unit, uint block) {
  Block raw;
  raw.words = weight_words(unit);
  raw.scale = unpackHalf2x16(scale_word(unit));
  return raw;
}

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const vec4 scale = vec4(block.scale.x), offset = vec4(block.scale.y);
  a = fma(codes(nibbles(block.words, 2u * part), 0.0), scale, offset);
  b = fma(codes(nibbles(block.words, 2u * part + 1u), 0.0), scale, offset);
}
