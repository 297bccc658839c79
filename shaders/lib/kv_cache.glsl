// Rounding of K and V as they are stored (docs/numerics.md). Every device, and the host (ref/operations.h), makes the same bits.
#include "lib/kv_blocks.glsl"
#include "lib/half.glsl"

#if KV_BLOCKS > 0
// Bits of a block's halves; only Q5_1 has a minimum.
// No loop here or in store_block (rope_store.comp) asks for unrolling: SwiftShader unrolls before it knows the constants K_FORMAT and
// V_FORMAT, and then needs gigabytes for all formats' copies.
struct BlockScale {
  uint scale, minimum;
};

uint largest_of(uvec4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }

// The largest magnitude; they are compared as bits, so NaN is above all.
uint largest_magnitude(vec4 values[KV_BLOCK / 4u]) {
  uvec4 largest = uvec4(0u);
  for (uint i = 0; i < KV_BLOCK / 4u; ++i) largest = max(largest, floatBitsToUint(values[i]) & 0x7fffffffu);
  return largest_of(largest);
}

// Half(largest magnitude / 127). The multiplication by 1/127 is rounded once everywhere.
BlockScale q8_0_scale(vec4 values[KV_BLOCK / 4u]) {
  return BlockScale(half_bits(uintBitsToFloat(largest_magnitude(values)) * 0.007874016), 0u);
}

#if KV_BLOCKS > 1
// Half(-(the first value of the largest magnitude) / 8). A scale of 0 and one that is no number have no sign.
BlockScale q4_0_scale(vec4 values[KV_BLOCK / 4u]) {
  const uint largest = largest_magnitude(values);
  uint first = 0u;
  for (uint i = KV_BLOCK / 4u; i > 0u; --i) {   // the quad that is looked at last is the first
    const uvec4 bits = floatBitsToUint(values[i - 1u]);
    const bvec4 is_largest = equal(bits & 0x7fffffffu, uvec4(largest));
    for (uint j = 4u; j > 0u; --j) first = mix(first, bits[j - 1u], is_largest[j - 1u]);
  }
  const uint scale = half_bits(uintBitsToFloat(largest) * 0.125);
  return BlockScale(scale | mix(~first >> 16 & 0x8000u, 0u, scale == 0u || scale >= 0x7c00u), 0u);
}

// The order of floats as that of integers, -0 below +0, and back.
uvec4 order_of(vec4 values) {
  const uvec4 bits = floatBitsToUint(values);
  return bits ^ mix(uvec4(0x80000000u), uvec4(0xffffffffu), greaterThanEqual(bits, uvec4(0x80000000u)));
}
float in_order(uint order) { return uintBitsToFloat(order ^ mix(0xffffffffu, 0x80000000u, order >= 0x80000000u)); }

// Half((largest - least) / 31) and half(least). A block with an infinity or a NaN has a scale of NaN.
BlockScale q5_1_scale(vec4 values[KV_BLOCK / 4u]) {
  uvec4 largest = uvec4(0u), least = uvec4(0xffffffffu);
  for (uint i = 0; i < KV_BLOCK / 4u; ++i) {
    const uvec4 order = order_of(values[i]);
    largest = max(largest, order);
    least = min(least, order);
  }
  const uint high = largest_of(largest), low = ~largest_of(~least);
  const float bottom = in_order(low);
  precise float range = in_order(high) - bottom;
  const bool finite = high < 0xff800000u && low > 0x007fffffu;
  return BlockScale(mix(0x7e00u, half_bits(range * 0.032258064), finite), mix(0u, half_bits(bottom), finite));
}
#endif

BlockScale block_scale(uint format, vec4 values[KV_BLOCK / 4u]) {
#if KV_BLOCKS > 1
  if (format == KV_FORMAT_Q4_0) return q4_0_scale(values);
  if (format == KV_FORMAT_Q5_1) return q5_1_scale(values);
#endif
  return q8_0_scale(values);
}

// Four codes: the largest ones of 0 .. most for which (code - offset) * scale is at most the value. Division may be off by 2.5 units, so
// the quotient only proposes a code and products decide, which are exact: (code - offset) * scale has at most 19 bits.
vec4 codes_of(vec4 values, float offset, float most, float scale) {
  vec4 code = floor(values * (1.0 / scale) + offset);
  const bvec4 less = lessThan(values, (code - offset) * scale), more = greaterThanEqual(values, (code + (1.0 - offset)) * scale);
  code += mix(mix(vec4(0.0), vec4(1.0), more), vec4(-1.0), less);
  return clamp(code, 0.0, most);
}

// With a scale of 0 codes are those of the quant 0, and the block reads as its minimum or as zeros; so they are where scale or minimum is
// infinite or NaN, and the block reads as that.
uvec4 four_codes(uint format, vec4 values, BlockScale block) {
  const uint size = block.scale & 0x7fffu;
  const float scale = unpackHalf2x16(size).x;
  const bool unused = size == 0u || size >= 0x7c00u || (block.minimum & 0x7c00u) == 0x7c00u;
#if KV_BLOCKS > 1
  if (format == KV_FORMAT_Q4_0) {
    const uvec4 codes = uvec4(codes_of(mix(values, -values, bvec4(block.scale != size)), 8.5, 15.0, scale));
    return mix(codes, uvec4(8u), bvec4(unused));
  }
  if (format == KV_FORMAT_Q5_1) {
    precise vec4 above = values - unpackHalf2x16(block.minimum).x;
    return mix(uvec4(codes_of(above, 0.5, 31.0, scale)), uvec4(0u), bvec4(unused));
  }
#endif
  const uvec4 sizes = uvec4(codes_of(abs(values), 0.5, 127.0, scale));
  return mix(mix(sizes, 0u - sizes, lessThan(values, vec4(0.0))) & 0xffu, uvec4(0u), bvec4(unused));
}

uint pack_bytes(uvec4 codes) { return codes.x | codes.y << 8 | codes.z << 16 | codes.w << 24; }
#if KV_BLOCKS > 1
uint pack_nibbles(uvec4 codes) { return (codes.x & 15u) | (codes.y & 15u) << 4 | (codes.z & 15u) << 8 | (codes.w & 15u) << 12; }
uint pack_fifths(uvec4 codes) { return codes.x >> 4 | codes.y >> 4 << 1 | codes.z >> 4 << 2 | codes.w >> 4 << 3; }
#endif
#endif
