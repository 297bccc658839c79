const uint UNIT = 1;
struct Block {
  uvec4 words;
  float scale;
};

Block load_block(uint unit, uint block) {
  Block raw;
  raw.words = weight_words(unit);
  raw.scale = scale_of(unit);
  return raw;
}

// Weight j of a block is the low nibble of byte j, weight 16 + j its high nibble; both are offset by 8.
vec4 nibbles(uint word) { return vec4(ivec4((uvec4(word) >> uvec4(0, 8, 16, 24)) & 15u) - 8); }

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const uvec2 bytes = (part & 1u) == 0u ? block.words.xy : block.words.zw;
  const uvec2 w = part < 2u ? bytes : bytes >> 4;
  a = nibbles(w.x) * block.scale;
  b = nibbles(w.y) * block.scale;
}
