// A table of rows of eight weights -1, 0 or 1, two bits each and two rows a word.
const uint TABLE_WORDS = 1024;
#include "lib/quant/table.glsl"

// The weights of a row, moved down by an eighth or up, times a scale of up to 16 bits. 0x3f800000 is 1 as a float; two bits of level below
// its exponent make it 1 + level / 4. Products and differences are exact.
void expand_row(uint row, bool down, float scale, out vec4 a, out vec4 b) {
  const uint levels = table_word(row >> 1) >> (16u * (row & 1u));
  const vec4 offset = vec4(scale * (down ? -5.125 : -4.875)), four = vec4(4.0 * scale);
  a = fma(uintBitsToFloat(((uvec4(levels) << uvec4(21, 19, 17, 15)) & 0x00600000u) | 0x3f800000u), four, offset);
  b = fma(uintBitsToFloat(((uvec4(levels) << uvec4(13, 11, 9, 7)) & 0x00600000u) | 0x3f800000u), four, offset);
}
