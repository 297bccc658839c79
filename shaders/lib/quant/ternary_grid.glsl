// A table of rows of eight weights -1, 0 or 1, two bits each and two rows a word.
const uint TABLE_WORDS = 1024;
#include "lib/quant/table.glsl"

// Weights 8 * part .. 8 * part + 7, moved down by an eighth or up. 0x47800000 is 2^16 as a float, whose mantissa has a 1 at bit 7: it takes a
// code, and the eighth fits below it.
void expand_row(uint row, bool down, out vec4 a, out vec4 b) {
  const uint levels = table_word(row >> 1) >> (16u * (row & 1u));
  const float middle = down ? 65537.125 : 65536.875;
  a = uintBitsToFloat(((uvec4(levels << 7) >> uvec4(0, 2, 4, 6)) & 0x180u) | 0x47800000u) - middle;
  b = uintBitsToFloat(((uvec4(levels >> 1) >> uvec4(0, 2, 4, 6)) & 0x180u) | 0x47800000u) - middle;
}
