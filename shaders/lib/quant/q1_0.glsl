const uint UNIT = 4;
struct Block {
  uint word;
  float scale;
};

Block load_block(uint unit, uint block) {
  const uvec4 four = weight_words(unit);
  const uvec2 two = (block & 2u) == 0u ? four.xy : four.zw;
  Block raw;
  raw.word = (block & 1u) == 0u ? two.x : two.y;
  raw.scale = scale_half(unit);
  return raw;
}

// A set bit is 1, another one -1.
#define BLOCK_SCALE
void expand_codes(Block block, uint part, out vec4 a, out vec4 b) {
  a = codes(bits(block.word, 2u * part) << 1, 1.0);
  b = codes(bits(block.word, 2u * part + 1u) << 1, 1.0);
}
