#version 450
#extension GL_GOOGLE_include_directive : require
// Random weights: word i of the target comes from word i % 4 of Philox block i / 4, so it depends on key and place alone, and every device
// gives the same bits. Philox4x32-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011; src/base/philox.h.
// One-dimensional; a lane takes whole blocks, at a stride of all lanes.
#include "lib/stage.glsl"
#include "abi/random_fill.h"

RANDOM_FILL_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { RANDOM_FILL_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = RANDOM_FILL_TARGET) writeonly buffer Target { uint target[]; };

uvec4 philox(uvec4 c, uvec2 key) {
  for (uint round = 0u; round < 10u; ++round) {
    uint high_a, low_a, high_b, low_b;
    umulExtended(0xD2511F53u, c.x, high_a, low_a);
    umulExtended(0xCD9E8D57u, c.z, high_b, low_b);
    c = uvec4(high_b ^ c.y ^ key.x, low_b, high_a ^ c.w ^ key.y, low_a);
    key += uvec2(0x9E3779B9u, 0xBB67AE85u);
  }
  return c;
}

bool is_set(uint mask, uint half_index) { return (mask >> (half_index % push.period) & 1u) != 0u; }

// 24 random bits as a number. Products and sum round once each, as on the host.
float number(uint bits, uint half_index) {
  precise float part = float(bits) * 5.9604644775390625e-8 * (push.high - push.low);
  precise float value = push.low + part;
  if (is_set(push.minima, half_index)) value *= push.minimum;
  return value;
}

// Truncated, not rounded, in integer arithmetic: the same on every device.
uint to_half(float value) {
  const uint bits = floatBitsToUint(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  return sign | (rest < 0x38800000u ? uint(uintBitsToFloat(rest) * 16777216.0) : (rest >> 13) - (112u << 10));
}

// The byte e of the power of two 2^(e - 128).
uint to_e8m0(float value) { return (floatBitsToUint(value) >> 23) + 1u; }

// The byte of half the number with 4 bits of exponent (bias 7) and 3 of mantissa.
uint to_e4m3(float value) {
  const float twice = 2.0 * value;
  return twice < 0.015625 ? uint(twice * 512.0) : (floatBitsToUint(twice) >> 20) - (120u << 3);
}

uint half_word(uint half_index, uint bits) {
  if (!is_set(push.numbers, half_index)) return bits;
  const float value = number(bits << 8, half_index);
  if (NUMBER == RANDOM_E8M0) return to_e8m0(value) * 0x0101u;
  if (NUMBER == RANDOM_E4M3) return to_e4m3(value) * 0x0101u;
  return NUMBER == RANDOM_BF16 ? floatBitsToUint(value) >> 16 : to_half(value);
}

uint word(uint index, uint bits) {
  if (NUMBER == RANDOM_F32) return is_set(push.numbers, 2u * index) ? floatBitsToUint(number(bits >> 8, 2u * index)) : bits;
  return half_word(2u * index, bits & 0xffffu) | half_word(2u * index + 1u, bits >> 16) << 16;
}

void main() {
  const uint blocks = (push.words + 3u) / 4u, stride = gl_NumWorkGroups.x * LANES;
  for (uint block = gl_GlobalInvocationID.x; block < blocks; block += stride) {
    const uvec4 random = philox(uvec4(block, 0u, 0u, 0u), uvec2(push.key_low, push.key_high));
    for (uint j = 0u; j < 4u; ++j) {
      const uint i = block * 4u + j;
      if (i >= push.words) break;
      target[i] = word(i, random[j]);
    }
  }
}
