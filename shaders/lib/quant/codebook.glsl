// Four-bit codes for 16 unevenly spaced values, and a scale.
struct Block {
  uvec4 words;
  float scale;
};

// The values -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113 by code. A polynomial that is never further than 0.44
// from them, rounded, costs less than a table that lanes look up at different places. (Least-squares weights were adapted until the largest
// error of a fourth degree was least.)
vec4 values(vec4 code) {
  vec4 v = fma(code, vec4(1.58604e-3), vec4(3.10864e-2));
  v = fma(code, v, vec4(-1.37193));
  v = fma(code, v, vec4(24.1738));
  return roundEven(fma(code, v, vec4(-126.567)));
}

#define BLOCK_SCALE
void expand_codes(Block block, uint part, out vec4 a, out vec4 b) {
  a = values(codes(nibbles(block.words, 2u * part), 0.0));
  b = values(codes(nibbles(block.words, 2u * part + 1u), 0.0));
}
