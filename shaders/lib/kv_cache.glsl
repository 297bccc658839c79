// Rounding of K and V as they are stored.
#include "lib/kv_blocks.glsl"
#include "lib/half.glsl"

// A block of Q8_0: scale = half(largest magnitude / 127), quants = value / scale rounded to the nearest, ties away from zero, at most 127
// in size. Division may be off by 2.5 units, so the quotient only proposes a quant and exact products decide: (quant + 0.5) * scale has at
// most 19 bits. Every device, and the host (ref/operations.h), thus makes the same bits. The multiplication by 1/127 is rounded once
// everywhere.
uint block_scale_bits(uint largest_magnitude) { return half_bits(uintBitsToFloat(largest_magnitude) * 0.007874016); }

// Four quants, lowest byte first. A scale of 0, infinity or NaN has quants of 0: the block reads as zeros, or as NaN.
uint pack_quants(vec4 values, uint scale_bits) {
  if (scale_bits == 0u || scale_bits >= 0x7c00u) return 0u;
  const float scale = unpackHalf2x16(scale_bits).x, inverse = 1.0 / scale;
  uint word = 0u;
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    const float size = abs(values[i]);
    float quant = min(floor(size * inverse + 0.5), 127.0);
    if (size < (quant - 0.5) * scale) quant -= 1.0;
    else if (size >= (quant + 0.5) * scale && quant < 127.0) quant += 1.0;
    const uint bits = uint(quant);
    word |= ((values[i] < 0.0 ? 0u - bits : bits) & 0xffu) << (8u * i);
  }
  return word;
}
