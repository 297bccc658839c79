// One file per weight format. Each gives:
//   Block                      the raw words of 32 weights of one row
//   load_block(index)          reads block `index` (row * blocks + block in row) with 16-byte loads
//   expand(block, part, a, b)  weights 8*part .. 8*part+7 as floats, scale applied; part is a compile-time constant after unrolling
// Device layout (model/weights.cpp makes it): `weights` holds the quants of all rows, rows padded to whole blocks with zeros;
// `scales` holds the half-precision scales of all blocks in the same order, two per word. Formats without scales ignore it.
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
