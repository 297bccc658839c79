// A float to the nearest half, ties to even, in integer arithmetic: packHalf2x16 may truncate (lavapipe of Mesa 22 does). Without branches,
// since neighbouring lanes would often need all of them.
uint half_bits(float value) {
  const uint bits = floatBitsToUint(value), magnitude = bits & 0x7fffffffu;
  // Denormal: units of 2^-24; adding 1.5 * 2^23 leaves the rounded integer in the low mantissa bits.
  const uint unit = floatBitsToUint(uintBitsToFloat(min(magnitude, 0x38800000u)) * 16777216.0 + 12582912.0) & 0x7ffu;
  uint result = mix((magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13, unit, magnitude < 0x38800000u);
  result = mix(result, 0x7c00u, magnitude >= 0x477ff000u);
  result = mix(result, 0x7e00u, magnitude > 0x7f800000u);
  return ((bits >> 16) & 0x8000u) | result;
}

uint pack_halves(float low, float high) { return half_bits(low) | (half_bits(high) << 16); }
