vec4 signed_bytes(uint word) { return vec4(int(word << 24) >> 24, int(word << 16) >> 24, int(word << 8) >> 24, int(word) >> 24); }

// Codes of a Block with a scale and two `words`.
#define BLOCK_SCALE
void expand_codes(Block block, uint part, out vec4 a, out vec4 b) {
  const uvec4 four = part < 2u ? block.words[0] : block.words[1];
  const uvec2 w = (part & 1u) == 0u ? four.xy : four.zw;
  a = signed_bytes(w.x);
  b = signed_bytes(w.y);
}
