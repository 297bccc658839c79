#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require
// y[c][n] = sum_k W[n][k] * x[c][k] (+ bias[n]) (+ residual[c][n]) for COLS columns c, lanes side by side on output rows. Optionally x is
// RMS-normalised on the way in, and silu(gate) * up or the largest output comes out.
//
// Shapes and buffers as in matvec.comp. The workgroup is one subgroup of LANES lanes; a lane makes ROWS output rows for COLS columns and
// walks all of K, so there is nothing to reduce. A block of x is loaded once by the subgroup, LANES float4 at a time, and shuffled: on CPU
// drivers a storage-buffer load costs a scalar load per lane, a shuffle one instruction (docs/vulkan.md). K_LANES is 1. A row's 32 weights
// meet all columns before the next row's are expanded, so that few sums are live at a time.
//
// Numerics contract (docs/numerics.md): an output is, block after block, scale * (sum of four chains over 8 weights each, in order) added
// to the sum; then the norm's scale. COLS only adds columns.
#include "lib/stage.glsl"
#include "lib/matvec.glsl"

const uint QUADS = 8u;                                            // float4 of x in a block of 32
const uint LOADERS = LANES < QUADS ? LANES : QUADS;               // lanes that hold different float4
const uint LOADS = (QUADS + LOADERS - 1u) / LOADERS;

vec4 held[COLS * LOADS];         // lane l holds float4 l, l + LOADERS, ... of the block, of every column
float sum[OUTPUTS];
float squares[COLS];             // of the values that this lane has held

// The output row of this lane's r-th row.
uint output_row(uint r) { return (TILE * ROWS_OUT + r % ROWS_OUT) * LANES + gl_LocalInvocationID.x; }

#define COLUMNS COLS
#include "lib/matvec_rows.glsl"
#if defined(EXPERTS)
#undef COLUMNS
#define COLUMNS 1u
#define hold hold_column
#define add_row add_row_of_column
#define column_scale scale_of_column
#define store_largest store_largest_of_column
#define multiply multiply_column
#include "lib/matvec_rows.glsl"
#undef multiply
#include "lib/experts.glsl"
#endif
