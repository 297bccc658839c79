struct Block { uvec4 words[8]; };

Block load_block(uint index) {
  Block block;
  [[unroll]] for (uint i = 0; i < 8; ++i) block.words[i] = weight_words(index * 8 + i);
  return block;
}

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  a = uintBitsToFloat(block.words[2 * part]);
  b = uintBitsToFloat(block.words[2 * part + 1]);
}
