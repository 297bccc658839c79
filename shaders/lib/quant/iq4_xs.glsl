#include "lib/quant/codebook.glsl"
const uint UNIT = 8;

// Plane 1: d and the upper two bits of 8 scales, which are 6 bits plus 32; their lower four bits.
Block load_block(uint unit, uint block) {
  const uint b = block & 7u;
  const uvec2 header = scale_pair(unit);
  const uint scale = ((header.y >> (4u * b)) & 15u) | (((header.x >> (16u + 2u * b)) & 3u) << 4);
  Block raw;
  raw.words = weight_words(unit * 8u + b);
  raw.scale = unpackHalf2x16(header.x).x * float(int(scale) - 32);
  return raw;
}
