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
// 0x4b000000 is 2^23 as a float: a small integer put into its mantissa is added to it, which costs less than a conversion.
vec4 nibbles(uint word) { return uintBitsToFloat(((uvec4(word) >> uvec4(0, 8, 16, 24)) & 15u) | 0x4b000000u) - 8388616.0; }

#define BLOCK_SCALE
void expand_codes(Block block, uint part, out vec4 a, out vec4 b) {
  const uvec2 bytes = (part & 1u) == 0u ? block.words.xy : block.words.zw;
  const uvec2 w = part < 2u ? bytes : bytes >> 4;
  a = nibbles(w.x);
  b = nibbles(w.y);
}
