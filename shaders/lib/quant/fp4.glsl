// Twice the numbers of four codes of one sign bit, two of exponent and one of mantissa: 0, 1, 2, 3, 4, 6, 8, 12. The codes are the low
// halves of a word's bytes. Codes from 4 on add their lower two bits, and 2 more if both are set; the byte of a number is 12 more than it.
vec4 fp4(uint four) {
  const uint large = (four >> 2) & 0x01010101u, negative = (four >> 3) & 0x01010101u;
  const uint low = four & (large * 3u);
  const uint size = (four & 0x07070707u) + low + 2u * (low & (low >> 1) & 0x01010101u);
  return codes(0x0c0c0c0cu + size - 2u * (size & (negative * 15u)), 12.0);
}
