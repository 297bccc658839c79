const uint UNIT = 1;
struct Block { uvec4 words[4]; };

Block load_block(uint unit, uint block) {
  Block raw;
  [[unroll]] for (uint i = 0; i < 4; ++i) raw.words[i] = weight_words(unit * 4 + i);
  return raw;
}

// A bfloat16 is the upper half of a binary32.
void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const uvec4 w = block.words[part];
  a = uintBitsToFloat(uvec4(w.x << 16, w.x & 0xffff0000u, w.y << 16, w.y & 0xffff0000u));
  b = uintBitsToFloat(uvec4(w.z << 16, w.z & 0xffff0000u, w.w << 16, w.w & 0xffff0000u));
}
