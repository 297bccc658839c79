// A table of magnitudes, a byte a weight, and a bit of sign for each weight.
#include "lib/quant/table.glsl"

// 192 and four magnitudes below 64, of which those are negative whose bit is set in the lowest four of `signs`. All four bytes at once
// become 64 + magnitude or 64 - magnitude: the product puts a 1 into the byte of each negative weight, and none of the sums carries into
// another byte. 0x43000000 is 128 as a float, whose mantissa has a 1 at bit 16.
vec4 above_192(uint magnitudes, uint signs) {
  const uint ones = ((signs & 15u) * 0x00204081u) & 0x01010101u;
  const uint bytes = (magnitudes ^ (0x40404040u - ones)) + ones;
  return uintBitsToFloat((uvec4(bytes << 16, bytes << 8, bytes, bytes >> 8) & 0x007f0000u) | 0x43000000u);
}

// Eight weights, a row of the grid; or each times a scale of up to 16 bits: the product, its difference to that of 192 and the weight are
// all exact.
void signed_row(uvec2 row, uint signs, out vec4 a, out vec4 b) {
  a = above_192(row.x, signs) - 192.0;
  b = above_192(row.y, signs >> 4) - 192.0;
}
void scaled_row(uvec2 row, uint signs, float scale, out vec4 a, out vec4 b) {
  a = fma(above_192(row.x, signs), vec4(scale), vec4(-192.0 * scale));
  b = fma(above_192(row.y, signs >> 4), vec4(scale), vec4(-192.0 * scale));
}

// Seven signs and the eighth, which makes the number of negative weights even. Bit i of 0x6996 is the parity of i.
uint eight_signs(uint bits) {
  const uint seven = bits & 127u;
  return seven | (((0x6996u << 7) >> ((seven ^ (seven >> 4)) & 15u)) & 128u);
}
