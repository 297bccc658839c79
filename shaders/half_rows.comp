#version 450
#extension GL_GOOGLE_include_directive : require
// Rows of floats as halves with one scale per row: x = scale * half, one workgroup per row.
//
// The scale is a power of two that brings a row's largest magnitude to 2^14 .. 2^15: nothing overflows, and values that become denormal are
// 2^28 times smaller than the largest. A row with an infinity or a NaN keeps the scale 1, and they stay what they are.
#include "lib/stage.glsl"
#include "abi/half_rows.h"

HALF_ROWS_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { HALF_ROWS_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = HALF_ROWS_X) readonly buffer X { uvec4 x[]; };
layout(std430, set = 0, binding = HALF_ROWS_OUT) writeonly buffer Out { uvec4 result[]; };
#include "lib/half.glsl"

shared uint largest[LANES];

// Without their sign, the bits of floats are in the order of the floats, and those of NaN the largest.
uint magnitude(uvec4 bits) {
  const uvec4 m = bits & 0x7fffffffu;
  return max(max(m.x, m.y), max(m.z, m.w));
}

uint pack(uint low, uint high, float factor) { return pack_halves(uintBitsToFloat(low) * factor, uintBitsToFloat(high) * factor); }

void main() {
  const uint lane = gl_LocalInvocationID.x;
  const uint from = gl_WorkGroupID.x * push.blocks * 8u, to = gl_WorkGroupID.x * HALF_ROWS_WORDS(push.blocks);
  uint most = 0;
  for (uint i = lane; i < push.blocks * 8u; i += LANES) most = max(most, magnitude(x[from + i]));
  largest[lane] = most;
  barrier();
  for (uint i = 0; i < LANES; ++i) most = max(most, largest[i]);

  float factor = 1.0, scale = 1.0;
  if (most < 0x7f800000u) {
    const uint exponent = clamp(most >> 23, 15u, 254u);
    factor = uintBitsToFloat((268u - exponent) << 23);   // 2^(14 - (exponent - 127))
    scale = uintBitsToFloat((exponent - 14u) << 23);     // its inverse
  }
  for (uint i = lane; i < push.blocks * 4u; i += LANES) {
    const uvec4 a = x[from + 2u * i], b = x[from + 2u * i + 1u];
    result[to + i] = uvec4(pack(a.x, a.y, factor), pack(a.z, a.w, factor), pack(b.x, b.y, factor), pack(b.z, b.w, factor));
  }
  if (lane == 0) result[to + push.blocks * 4u] = uvec4(floatBitsToUint(scale), 0, 0, 0);
}
