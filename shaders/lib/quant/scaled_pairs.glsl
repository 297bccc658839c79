// UNIT blocks with a scale; a weight is its two bits less one.
struct Block {
  uvec2 words;
  float scale;
};

Block load_block(uint unit, uint block) {
  const uint b = block % UNIT;
  const uvec4 four = weight_words(unit * (UNIT / 2u) + (b >> 1));
  Block raw;
  raw.words = (b & 1u) == 0u ? four.xy : four.zw;
  raw.scale = scale_half(unit);
  return raw;
}

#define BLOCK_SCALE
void expand_codes(Block block, uint part, out vec4 a, out vec4 b) {
  a = codes(pairs(block.words, 2u * part), 1.0);
  b = codes(pairs(block.words, 2u * part + 1u), 1.0);
}
