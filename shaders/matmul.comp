#version 450
#extension GL_GOOGLE_include_directive : require
// y = x * W^T (+ bias) (+ residual) for many columns (prefill): a TILE_N x TILE_M tile per workgroup through shared memory.
//
// Shapes and buffers as in matvec.comp. K is walked in blocks of 32: a block of W is dequantised once per tile into shared memory, x is
// staged beside it, and the next block is on its way meanwhile; a lane keeps LANE_N x LANE_M sums in registers. Every output is one fma
// chain over k in order, so the tile's size changes no bit. With HALF_PRECISION the staged factors are rounded to half precision; their
// products are exact in floats, and the sums are floats.
#include "lib/stage.glsl"
#include "abi/matmul.h"

MATMUL_SPEC(SK_CONSTANT)
#define TILE_QUADS MATMUL_TILE_QUADS
#include "lib/matmul.glsl"

// Neighbouring lanes take neighbouring rows and columns, so that the skewed reads fall into different banks.
const uint ACROSS = TILE_N / LANE_N, DOWN = TILE_M / LANE_M;

void main() {
  prepare_table();
  const uint lane_n = gl_LocalInvocationID.x % ACROSS, lane_m = gl_LocalInvocationID.x / ACROSS;
  const uint first_row = gl_WorkGroupID.x * TILE_N, first_column = gl_WorkGroupID.y * TILE_M;

  precise float sum[LANE_N * LANE_M];
  [[unroll]] for (uint i = 0; i < LANE_N * LANE_M; ++i) sum[i] = 0.0;

  fetch(first_row, first_column, 0);
  for (uint block = 0; block < push.blocks; ++block) {
    stage();
    barrier();
    if (block + 1u < push.blocks) fetch(first_row, first_column, block + 1u);
    for (uint quad = 0; quad < 8; ++quad) {
      vec4 v[LANE_M];
      [[unroll]] for (uint m = 0; m < LANE_M; ++m) v[m] = vec4(tile_x[(lane_m + m * DOWN) * TILE_QUADS + quad]);
      [[unroll]] for (uint n = 0; n < LANE_N; ++n) {
        const vec4 w = vec4(tile_w[(lane_n + n * ACROSS) * TILE_QUADS + quad]);
        [[unroll]] for (uint k = 0; k < 4; ++k) {
          [[unroll]] for (uint m = 0; m < LANE_M; ++m) sum[n * LANE_M + m] = fma(w[k], v[m][k], sum[n * LANE_M + m]);
        }
      }
    }
    barrier();
  }

  [[unroll]] for (uint m = 0; m < LANE_M; ++m) {
    const uint column = first_column + lane_m + m * DOWN;
    const float scale = column_scale(column);
    [[unroll]] for (uint n = 0; n < LANE_N; ++n) store(first_row + lane_n + n * ACROSS, column, sum[n * LANE_M + m] * scale);
  }
}
