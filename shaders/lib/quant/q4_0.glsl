const uint UNIT = 1;
struct Block {
  uvec4 words;
  float scale;
};

Block load_block(uint unit, uint block) {
  Block raw;
  raw.words = weight_words(unit);
  raw.scale = scale_half(unit);
  return raw;
}

#define BLOCK_SCALE
void expand_codes(Block block, uint part, out vec4 a, out vec4 b) {
  a = codes(nibbles(block.words, 2u * part), 8.0);
  b = codes(nibbles(block.words, 2u * part + 1u), 8.0);
}
