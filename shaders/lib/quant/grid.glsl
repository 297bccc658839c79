// A table of magnitudes, a byte a weight, and a bit of sign for each weight.
#include "lib/quant/table.glsl"

// Four magnitudes, of which those are negative whose bit is set in the lowest four of `signs`. All four bytes at once become 128 + magnitude or
// 128 - magnitude: the product puts a 1 into the byte of each negative weight, and none of the sums carries into another byte.
vec4 with_signs(uint magnitudes, uint signs) {
  const uint ones = ((signs & 15u) * 0x00204081u) & 0x01010101u;
  return codes((magnitudes ^ (0x80808080u - ones)) + ones, 128.0);
}

// Seven signs and the eighth, which makes the number of negative weights even; the bits above have no meaning.
uint eight_signs(uint seven) { return (seven & 127u) | (uint(bitCount(seven & 127u)) << 7); }
