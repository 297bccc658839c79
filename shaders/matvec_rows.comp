#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_ballot : require
// y[c][n] = sum_k W[n][k] * x[c][k] (+ bias[n]) (+ residual[c][n]) for COLS columns c, lanes side by side on output rows.
//
// Shapes and buffers as in matvec.comp. The workgroup is one subgroup of LANES lanes; a lane makes ROWS output rows for COLS columns and
// walks all of K, so there is nothing to reduce. x is loaded once by the subgroup, LANES float4 at a time, and broadcast: on CPU drivers a
// storage-buffer load costs a scalar load per lane (docs/vulkan.md), a broadcast one shuffle. K_LANES is 1.
//
// Numerics contract (docs/numerics.md): an output is one chain of fma over k in order; COLS only adds chains.
#include "lib/stage.glsl"
#include "lib/matvec.glsl"

const uint QUADS = 8u;                                            // float4 of x in a block of 32
const uint LOADERS = LANES < QUADS ? LANES : QUADS;               // lanes that hold different float4
const uint LOADS = (QUADS + LOADERS - 1u) / LOADERS;

void main() {
  const uint lane = gl_LocalInvocationID.x;
  const uint first_row = (gl_WorkGroupID.x * LANES + lane) * ROWS;
  const uint first_column = gl_WorkGroupID.y * COLS;

  precise float sum[OUTPUTS];
  [[unroll]] for (uint i = 0; i < OUTPUTS; ++i) sum[i] = 0.0;

  for (uint block = 0; block < push.blocks; ++block) {
    Block raw[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r) raw[r] = load_block(unit_of(min(first_row + r, push.n - 1u), block, push.blocks), block);
    vec4 mine[COLS * LOADS];
    [[unroll]] for (uint c = 0; c < COLS; ++c) {
      const uint at = ((first_column + c) * push.x_stride >> 2) + block * QUADS + lane % LOADERS;
      [[unroll]] for (uint i = 0; i < LOADS; ++i) mine[c * LOADS + i] = load_x(at + i * LOADERS);
    }
    [[unroll]] for (uint part = 0; part < 4; ++part) {
      vec4 a[ROWS], b[ROWS];
      [[unroll]] for (uint r = 0; r < ROWS; ++r) expand(raw[r], part, a[r], b[r]);
      [[unroll]] for (uint c = 0; c < COLS; ++c) {
        const uint qa = 2u * part, qb = 2u * part + 1u;
        const vec4 xa = subgroupBroadcast(mine[c * LOADS + qa / LOADERS], qa % LOADERS);
        const vec4 xb = subgroupBroadcast(mine[c * LOADS + qb / LOADERS], qb % LOADERS);
        [[unroll]] for (uint r = 0; r < ROWS; ++r) sum[r * COLS + c] = fma8(a[r], b[r], xa, xb, sum[r * COLS + c]);
      }
    }
  }

  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    [[unroll]] for (uint c = 0; c < COLS; ++c) store(first_row + r, first_column + c, sum[r * COLS + c]);
  }
}
