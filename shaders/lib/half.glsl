// A float to the nearest half, ties to even, in integer arithmetic: packHalf2x16 may truncate (lavapipe of Mesa 22 does).
uint half_bits(float value) {
  const uint bits = floatBitsToUint(value);
  const uint sign = (bits >> 16) & 0x8000u;
  const uint magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
  if (magnitude < 0x38800000u) {   // denormal: units of 2^-24; adding 1.5 * 2^23 leaves the rounded integer in the low mantissa bits
    const uint unit = floatBitsToUint(uintBitsToFloat(magnitude) * 16777216.0 + 12582912.0);
    return sign | (unit & 0x7ffu);
  }
  return sign | ((magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13);
}

uint pack_halves(float low, float high) { return half_bits(low) | (half_bits(high) << 16); }
