// Rounding of K and V as they are stored (docs/numerics.md). Every device, and the host (ref/operations.h), makes the same bits.
#include "lib/kv_blocks.glsl"
#include "lib/half.glsl"

// Bits of a block's halves; only Q5_1 has a minimum.
// No loop here or in store_block (rope_store.comp) asks for unrolling: SwiftShader unrolls before it knows the constants K_FORMAT and
// V_FORMAT, and then needs gigabytes for all formats' copies.
struct BlockScale {
  uint scale, minimum;
};

// The order of floats as that of integers, -0 below +0, and back.
uvec4 order_of(vec4 values) {
  const uvec4 bits = floatBitsToUint(values);
  return bits ^ mix(uvec4(0x80000000u), uvec4(0xffffffffu), greaterThanEqual(bits, uvec4(0x80000000u)));
}
float in_order(uint order) { return uintBitsToFloat(order ^ mix(0xffffffffu, 0x80000000u, order >= 0x80000000u)); }

uint largest_of(uvec4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }

// Q8_0: half(largest magnitude / 127). The multiplication by 1/127 is rounded once everywhere. Magnitudes are compared as bits, so NaN is
// above all. Q4_0: half(-(the first value of the largest magnitude) / 8). A scale of 0 and one that is no number have no sign. Q5_1:
// half((largest - least) / 31) and half(least). A block with an infinity or a NaN has a scale of NaN.
BlockScale block_scale(uint format, vec4 values[KV_BLOCK / 4u]) {
  uvec4 largest = uvec4(0u), least = uvec4(0xffffffffu);
  for (uint i = 0; i < KV_BLOCK / 4u; ++i) {
    const uvec4 order = format == KV_FORMAT_Q5_1 ? order_of(values[i]) : floatBitsToUint(values[i]) & 0x7fffffffu;
    largest = max(largest, order);
    least = min(least, order);
  }
  const uint high = largest_of(largest), low = ~largest_of(~least);
  if (format == KV_FORMAT_Q8_0) return BlockScale(half_bits(uintBitsToFloat(high) * 0.007874016), 0u);
  if (format == KV_FORMAT_Q4_0) {
    // The last quad that is looked at is the first.
    uint sign = 0u;
    for (uint i = KV_BLOCK / 4u; i > 0u; --i) {
      const uvec4 bits = floatBitsToUint(values[i - 1u]);
      const bvec4 is_largest = equal(bits & 0x7fffffffu, uvec4(high));
      for (uint j = 4u; j > 0u; --j) sign = mix(sign, bits[j - 1u], is_largest[j - 1u]);
    }
    const uint scale = half_bits(uintBitsToFloat(high) * 0.125);
    return BlockScale(scale | mix(~sign >> 16 & 0x8000u, 0u, scale == 0u || scale >= 0x7c00u), 0u);
  }
  const float bottom = in_order(low);
  precise float range = in_order(high) - bottom;
  const bool finite = high < 0xff800000u && low > 0x007fffffu;
  return BlockScale(mix(0x7e00u, half_bits(range * 0.032258064), finite), mix(0u, half_bits(bottom), finite));
}

// Four codes: the largest ones of 0 .. most for which (code - offset) * scale is at most the value. Division may be off by 2.5 units, so
// the quotient only proposes a code and products decide, which are exact: (code - offset) * scale has at most 19 bits. With a scale of 0
// they are those of the quant 0, and the block reads as its minimum or as zeros; so they are where scale or minimum is infinite or NaN, and
// the block reads as that.
uvec4 four_codes(uint format, vec4 values, BlockScale block) {
  const uint size = block.scale & 0x7fffu;
  const float scale = unpackHalf2x16(size).x, inverse = 1.0 / scale;
  const float offset = format == KV_FORMAT_Q4_0 ? 8.5 : 0.5, most = format == KV_FORMAT_Q8_0 ? 127.0 : format == KV_FORMAT_Q4_0 ? 15.0 : 31.0;
  precise vec4 above;
  if (format == KV_FORMAT_Q8_0) above = abs(values);
  else if (format == KV_FORMAT_Q4_0) above = mix(values, -values, bvec4(block.scale != size));
  else above = values - unpackHalf2x16(block.minimum).x;
  vec4 code = floor(above * inverse + offset);
  const bvec4 less = lessThan(above, (code - offset) * scale), more = greaterThanEqual(above, (code + (1.0 - offset)) * scale);
  code += mix(mix(vec4(0.0), vec4(1.0), more), vec4(-1.0), less);
  uvec4 codes = uvec4(clamp(code, 0.0, most));
  if (format == KV_FORMAT_Q8_0) codes = mix(codes, 0u - codes, lessThan(values, vec4(0.0))) & 0xffu;
  const bool unused = size == 0u || size >= 0x7c00u || (block.minimum & 0x7c00u) == 0x7c00u;
  return mix(codes, uvec4(format == KV_FORMAT_Q4_0 ? 8u : 0u), bvec4(unused));
}

uint pack_bytes(uvec4 codes) { return codes.x | codes.y << 8 | codes.z << 16 | codes.w << 24; }
uint pack_nibbles(uvec4 codes) { return (codes.x & 15u) | (codes.y & 15u) << 4 | (codes.z & 15u) << 8 | (codes.w & 15u) << 12; }
uint pack_fifths(uvec4 codes) { return codes.x >> 4 | codes.y >> 4 << 1 | codes.z >> 4 << 2 | codes.w >> 4 << 3; }
