// Rounding of K and V as they are stored (docs/numerics.md). Every device, and the host (ref/operations.h), makes the same bits.
#include "lib/kv_blocks.glsl"
#include "lib/half.glsl"

// Bits of a block's halves; only Q5_1 has a minimum.
struct BlockScale {
  uint scale, minimum;
};

// Q8_0: half(largest magnitude / 127). The multiplication by 1/127 is rounded once everywhere. Magnitudes are compared as bits, so NaN is above all.
BlockScale q8_0_scale(vec4 values[KV_BLOCK / 4u]) {
  uint largest = 0u;
  [[unroll]] for (uint i = 0; i < KV_BLOCK / 4u; ++i) {
    const uvec4 size = floatBitsToUint(values[i]) & 0x7fffffffu;
    largest = max(largest, max(max(size.x, size.y), max(size.z, size.w)));
  }
  return BlockScale(half_bits(uintBitsToFloat(largest) * 0.007874016), 0u);
}

// Q4_0: half(-(the first value of the largest magnitude) / 8). A scale of 0 and one that is no number have no sign.
BlockScale q4_0_scale(vec4 values[KV_BLOCK / 4u]) {
  uint largest = 0u, sign = 0u;
  [[unroll]] for (uint i = 0; i < KV_BLOCK; ++i) {
    const uint bits = floatBitsToUint(values[i / 4u][i % 4u]), size = bits & 0x7fffffffu;
    if (size > largest) {
      largest = size;
      sign = bits >> 31;
    }
  }
  const uint scale = half_bits(uintBitsToFloat(largest) * 0.125);
  return BlockScale(scale == 0u || scale >= 0x7c00u || sign == 1u ? scale : scale | 0x8000u, 0u);
}

// Q5_1: half((largest - least) / 31) and half(least). Values are compared as integers in their order, -0 below +0. A block with an infinity or a NaN
// has a scale of NaN.
BlockScale q5_1_scale(vec4 values[KV_BLOCK / 4u]) {
  uint least = 0xffffffffu, largest = 0u;
  [[unroll]] for (uint i = 0; i < KV_BLOCK; ++i) {
    const uint bits = floatBitsToUint(values[i / 4u][i % 4u]);
    const uint order = (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
    least = min(least, order);
    largest = max(largest, order);
  }
  if (largest >= 0xff800000u || least <= 0x007fffffu) return BlockScale(0x7e00u, 0u);
  const float low = uintBitsToFloat((least & 0x80000000u) != 0u ? least ^ 0x80000000u : ~least);
  const float high = uintBitsToFloat((largest & 0x80000000u) != 0u ? largest ^ 0x80000000u : ~largest);
  precise float range = high - low;
  return BlockScale(half_bits(range * 0.032258064), half_bits(low));
}

BlockScale block_scale(uint format, vec4 values[KV_BLOCK / 4u]) {
  if (format == KV_FORMAT_Q8_0) return q8_0_scale(values);
  if (format == KV_FORMAT_Q4_0) return q4_0_scale(values);
  return q5_1_scale(values);
}

// The largest code of 0 .. most for which (code - offset) * scale is at most `value`. Division may be off by 2.5 units, so the quotient only proposes
// a code and products decide, which are exact: (code - offset) * scale has at most 19 bits.
uint code_of(float value, float offset, float most, float scale, float inverse) {
  float code = floor(value * inverse + offset);
  if (value < (code - offset) * scale) code -= 1.0;
  else if (value >= (code + 1.0 - offset) * scale) code += 1.0;
  return uint(clamp(code, 0.0, most));
}

// Four codes. With a scale of 0 they are those of the quant 0, and the block reads as its minimum or as zeros; so they are where scale or minimum is
// infinite or NaN, and the block reads as that.
uvec4 four_codes(uint format, vec4 values, BlockScale block) {
  const uint size = block.scale & 0x7fffu;
  if (size == 0u || size >= 0x7c00u || (block.minimum & 0x7c00u) == 0x7c00u) return uvec4(format == KV_FORMAT_Q4_0 ? 8u : 0u);
  const float scale = unpackHalf2x16(size).x, inverse = 1.0 / scale;
  uvec4 codes;
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    if (format == KV_FORMAT_Q8_0) {
      const uint code = code_of(abs(values[i]), 0.5, 127.0, scale, inverse);
      codes[i] = (values[i] < 0.0 ? 0u - code : code) & 0xffu;
    } else if (format == KV_FORMAT_Q4_0) {
      codes[i] = code_of((block.scale & 0x8000u) != 0u ? -values[i] : values[i], 8.5, 15.0, scale, inverse);
    } else {
      precise float above = values[i] - unpackHalf2x16(block.minimum).x;
      codes[i] = code_of(above, 0.5, 31.0, scale, inverse);
    }
  }
  return codes;
}

uint pack_bytes(uvec4 codes) { return codes.x | codes.y << 8 | codes.z << 16 | codes.w << 24; }
uint pack_nibbles(uvec4 codes) { return (codes.x & 15u) | (codes.y & 15u) << 4 | (codes.z & 15u) << 8 | (codes.w & 15u) << 12; }
uint pack_fifths(uvec4 codes) { return codes.x >> 4 | codes.y >> 4 << 1 | codes.z >> 4 << 2 | codes.w >> 4 << 3; }
