// One file per weight format; define WEIGHTS_BINDING, SCALES_BINDING and SHARED_TABLE first. Each gives:
//   Block                      the raw words of 32 weights of one row
//   UNIT                       32-weight blocks that are stored together: a block of the file's
//   load_block(unit, block)    reads block `block` of a row, which is in unit unit_of(row, block, blocks), with 16-byte loads
//   expand_codes(block, part, a, b), block_scale(block)   where weight = block_scale * code (others: expand and 1)
//   expand(block, part, a, b)  weights 8*part .. 8*part+7 as floats, scale applied; part is a compile-time constant after unrolling
//   prepare_table()            to be called first, by all lanes; empty for formats without a table (lib/quant/table.glsl)
// Device layout (src/gguf/quants/ makes it): plane 0, `weights`, holds the codes of all units, in whole 16-byte words; plane 1, `scales`,
// a format's other data, as many bytes a unit as its row in src/gguf/weight_formats.def says. Formats without plane 1 ignore it.
// With USE_TEXELS the planes are bound as texel buffers of 16-byte words instead of storage buffers. CPU drivers gather texels with vector
// instructions, but fetch storage buffers lane by lane (docs/vulkan.md).
#if defined(USE_TEXELS)
layout(set = 0, binding = WEIGHTS_BINDING) uniform usamplerBuffer weight_texels;
layout(set = 0, binding = SCALES_BINDING) uniform usamplerBuffer scale_texels;
uvec4 weight_words(uint index) { return texelFetch(weight_texels, int(index)); }
uvec4 scale_words(uint index) { return texelFetch(scale_texels, int(index)); }
uvec2 scale_pair(uint index) {
  const uvec4 words = scale_words(index >> 1);
  return (index & 1u) == 0u ? words.xy : words.zw;
}
uint scale_word(uint index) {
  const uvec2 pair = scale_pair(index >> 1);
  return (index & 1u) == 0u ? pair.x : pair.y;
}
#else
layout(std430, set = 0, binding = WEIGHTS_BINDING) readonly buffer Weights { uvec4 weights[]; };
layout(std430, set = 0, binding = SCALES_BINDING) readonly buffer Scales { uvec4 scales[]; };
uvec4 weight_words(uint index) { return weights[index]; }
uvec4 scale_words(uint index) { return scales[index]; }
uint scale_word(uint index) { return scales[index >> 2][index & 3u]; }
uvec2 scale_pair(uint index) { return uvec2(scale_word(2u * index), scale_word(2u * index + 1u)); }
#endif

// Byte and half `index` of plane 1.
uint scale_byte(uint index) { return scale_word(index >> 2) >> (8u * (index & 3u)) & 255u; }
float scale_half(uint index) {
  const vec2 pair = unpackHalf2x16(scale_word(index >> 1));
  return (index & 1u) == 0u ? pair.x : pair.y;
}

// Formats with a minimum, or with two scales a block, expand to code * scale + offset. A format's scale times a code is exact in binary32
// (at most 11 bits of a half, 7 of a super-block's scale, 6 of a code; all but Q8_K's, a float times a byte, which rounds once), so nothing
// but the last addition rounds, and the result has the bits of the scalar reference's, which multiplies and subtracts.
//
// Codes of fewer than 8 bits are put together in the four bytes of a word: group g of a block is its weights 4*g .. 4*g + 3. The orders of
// bits are those that src/gguf/quants/blocks.h writes.

// The four bytes less `middle`. 0x4b000000 is 2^23 as a float: a small integer put into its mantissa is added to it, which costs less than
// a conversion.
vec4 codes(uint bytes, float middle) {
  return uintBitsToFloat(((uvec4(bytes) >> uvec4(0, 8, 16, 24)) & 255u) | 0x4b000000u) - (8388608.0 + middle);
}
uint nibbles(uvec4 words, uint group) {
  const uvec2 two = (group & 2u) == 0u ? words.xy : words.zw;
  const uint word = (group & 1u) == 0u ? two.x : two.y;
  return (group < 4u ? word : word >> 4) & 0x0f0f0f0fu;
}
uint pairs(uvec2 words, uint group) { return ((group < 4u ? words.x : words.y) >> (2u * (group & 3u))) & 0x03030303u; }
uint bits(uint word, uint group) { return (word >> group) & 0x01010101u; }

// The block's part of a 16-byte word with two words or one word for each block.
uvec2 pair_of(uvec4 words, uint block) { return (block & 1u) == 0u ? words.xy : words.zw; }
uint word_of(uvec4 words, uint block) {
  const uvec2 two = pair_of(words, block >> 1);
  return (block & 1u) == 0u ? two.x : two.y;
}

// The two 6-bit numbers of block `block` of a super-block, whose header has them in its last three words.
uvec2 six_bits(uvec4 header, uint block) {
  const uint low = ((block & 4u) == 0u ? header.y : header.z) >> (8u * (block & 3u));
  const uint high = header.w >> (4u * (block & 7u));
  return uvec2((low & 15u) | ((high & 3u) << 4), ((low >> 4) & 15u) | ((high & 12u) << 2));
}

// The variant's file of lib/quant/ (shaders/CMakeLists.txt).
#include "weight_format.glsl"
#if !defined(HAS_TABLE)
void prepare_table() {}
#endif

// The unit that holds block `block` of row `row`, in rows of `blocks` blocks; the units of INTERLEAVE rows alternate, so that lanes side by
// side on rows read side by side. Define INTERLEAVE first.
uint unit_of(uint row, uint block, uint blocks) {
  return (row / INTERLEAVE * (blocks / UNIT) + block / UNIT) * INTERLEAVE + row % INTERLEAVE;
}

#if defined(BLOCK_SCALE)
void expand(Block block, uint part, out vec4 a, out vec4 b) {
  expand_codes(block, part, a, b);
  a *= block.scale;
  b *= block.scale;
}
float block_scale(Block block) { return block.scale; }
#else
void expand_codes(Block block, uint part, out vec4 a, out vec4 b) { expand(block, part, a, b); }
float block_scale(Block block) { return 1.0; }
#endif
