const uint UNIT = 1;
struct Block { uvec4 words[8]; };

Block load_block(uint unit, uint block) {
  Block raw;
  [[unroll]] for (uint i = 0; i < 8; ++i) raw.words[i] = weight_words(unit * 8 + i);
  return raw;
}

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  a = uintBitsToFloat(block.words[2 * part]);
  b = uintBitsToFloat(block.words[2 * part + 1]);
}
