const uint UNIT = 1;
struct Block { uvec4 words[4]; };

Block load_block(uint unit, uint block) {
  Block raw;
  [[unroll]] for (uint i = 0; i < 4; ++i) raw.words[i] = weight_words(unit * 4 + i);
  return raw;
}

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const uvec4 w = block.words[part];
  a = vec4(unpackHalf2x16(w.x), unpackHalf2x16(w.y));
  b = vec4(unpackHalf2x16(w.z), unpackHalf2x16(w.w));
}
