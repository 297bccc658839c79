// One file per weight format; define WEIGHTS_BINDING and SCALES_BINDING first. Each gives:
//   Block                      the raw words of 32 weights of one row
//   UNIT                       32-weight blocks that are stored together: 1, or 8 for super-blocks of 256
//   load_block(unit, block)    reads block `block` of a row, which is in unit unit_of(row, block, blocks), with 16-byte loads
//   expand_codes(block, part, a, b), block_scale(block)   where weight = block_scale * code (others: expand and 1)
//   expand(block, part, a, b)  weights 8*part .. 8*part+7 as floats, scale applied; part is a compile-time constant after unrolling
// Device layout (model/weights.cpp makes it): `weights` holds the quants of all rows, rows padded to whole blocks with zeros;
// `scales` holds the half-precision scales of all blocks in the same order, two per word. Formats without scales ignore it.
// With USE_TEXELS the planes are bound as texel buffers of 16-byte words instead of storage buffers. CPU drivers gather texels with vector
// instructions, but fetch storage buffers lane by lane (docs/vulkan.md).
#if defined(USE_TEXELS)
layout(set = 0, binding = WEIGHTS_BINDING) uniform usamplerBuffer weight_texels;
layout(set = 0, binding = SCALES_BINDING) uniform usamplerBuffer scale_texels;
uvec4 weight_words(uint index) { return texelFetch(weight_texels, int(index)); }
uint scale_word(uint index) {
  const uvec4 words = texelFetch(scale_texels, int(index >> 2));
  const uvec2 half_words = (index & 2u) == 0u ? words.xy : words.zw;
  return (index & 1u) == 0u ? half_words.x : half_words.y;
}
#else
layout(std430, set = 0, binding = WEIGHTS_BINDING) readonly buffer Weights { uvec4 weights[]; };
layout(std430, set = 0, binding = SCALES_BINDING) readonly buffer Scales { uint scales[]; };
uvec4 weight_words(uint index) { return weights[index]; }
uint scale_word(uint index) { return scales[index]; }
#endif

// The half-precision scale of a block.
float scale_of(uint block) {
  const vec2 pair = unpackHalf2x16(scale_word(block >> 1));
  return (block & 1u) == 0u ? pair.x : pair.y;
}

#if defined(FORMAT_F32)
#include "lib/quant/f32.glsl"
#elif defined(FORMAT_F16)
#include "lib/quant/f16.glsl"
#elif defined(FORMAT_BF16)
#include "lib/quant/bf16.glsl"
#elif defined(FORMAT_Q8_0)
#include "lib/quant/q8_0.glsl"
#elif defined(FORMAT_Q4_0)
#include "lib/quant/q4_0.glsl"
#else
#error "a FORMAT_* must be defined"
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
