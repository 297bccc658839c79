#version 450
#extension GL_GOOGLE_include_directive : require
// y = x * W^T (+ bias) (+ residual) for many columns (prefill): a TILE_N x TILE_M tile per workgroup through shared memory.
//
// Shapes and buffers as in matvec.comp. K is walked in blocks of 32: each block of W is dequantised once per tile into shared
// memory, x is staged beside it; a lane keeps LANE_N x LANE_M sums in registers. Rows of the staged tiles are skewed by one word
// against bank conflicts. Columns past the real ones are padding in x and y. Every output is one fma chain over k in order.
#include "lib/stage.glsl"
#include "abi/matmul.h"

MATMUL_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { MATMUL_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = MATVEC_X) readonly buffer X { vec4 x[]; };
layout(std430, set = 0, binding = MATVEC_Y) writeonly buffer Y { float y[]; };
layout(std430, set = 0, binding = MATVEC_BIAS) readonly buffer Bias { float bias[]; };
layout(std430, set = 0, binding = MATVEC_RESIDUAL) readonly buffer Residual { float residual[]; };

#define WEIGHTS_BINDING MATVEC_WEIGHTS
#define SCALES_BINDING MATVEC_SCALES
#include "lib/quant.glsl"

const uint ROW = 33;   // 32 values and one word of skew
shared float tile_w[TILE_N * ROW];
shared float tile_x[TILE_M * ROW];

void stage_weights(uint first_row, uint block) {
  for (uint n = gl_LocalInvocationID.x; n < TILE_N; n += LANES) {
    const Block raw = load_block(unit_of(min(first_row + n, push.n - 1u), block, push.blocks), block);
    [[unroll]] for (uint part = 0; part < 4; ++part) {
      vec4 a, b;
      expand(raw, part, a, b);
      [[unroll]] for (uint i = 0; i < 4; ++i) {
        tile_w[n * ROW + part * 8u + i] = a[i];
        tile_w[n * ROW + part * 8u + 4u + i] = b[i];
      }
    }
  }
}

void stage_columns(uint first_column, uint block) {
  for (uint i = gl_LocalInvocationID.x; i < TILE_M * 8u; i += LANES) {
    const uint m = i / 8u, quad = i % 8u;
    const vec4 v = x[((first_column + m) * push.x_stride >> 2) + block * 8u + quad];
    [[unroll]] for (uint j = 0; j < 4; ++j) tile_x[m * ROW + quad * 4u + j] = v[j];
  }
}

void main() {
  const uint across = TILE_N / LANE_N;
  const uint lane_n = gl_LocalInvocationID.x % across, lane_m = gl_LocalInvocationID.x / across;
  const uint first_row = gl_WorkGroupID.x * TILE_N, first_column = gl_WorkGroupID.y * TILE_M;

  precise float sum[LANE_N * LANE_M];
  [[unroll]] for (uint i = 0; i < LANE_N * LANE_M; ++i) sum[i] = 0.0;

  for (uint block = 0; block < push.blocks; ++block) {
    stage_weights(first_row, block);
    stage_columns(first_column, block);
    barrier();
    for (uint k = 0; k < 32; ++k) {
      float w[LANE_N], v[LANE_M];
      // Neighbouring lanes take neighbouring rows (stride `across`), so that the skewed reads fall into different banks.
      [[unroll]] for (uint n = 0; n < LANE_N; ++n) w[n] = tile_w[(lane_n + n * across) * ROW + k];
      [[unroll]] for (uint m = 0; m < LANE_M; ++m) v[m] = tile_x[(lane_m * LANE_M + m) * ROW + k];
      [[unroll]] for (uint m = 0; m < LANE_M; ++m) {
        [[unroll]] for (uint n = 0; n < LANE_N; ++n) sum[n * LANE_M + m] = fma(w[n], v[m], sum[n * LANE_M + m]);
      }
    }
    barrier();
  }

  [[unroll]] for (uint m = 0; m < LANE_M; ++m) {
    [[unroll]] for (uint n = 0; n < LANE_N; ++n) {
      const uint row = first_row + lane_n + n * across;
      if (row < push.n) {
        precise float result = sum[n * LANE_M + m];
        if (ADD_BIAS != 0u) result += bias[push.y_first + row];
        const uint at = (first_column + lane_m * LANE_M + m) * push.y_stride + push.y_first + row;
        if (ADD_RESIDUAL != 0u) result += residual[at];
        y[at] = result;
      }
    }
  }
}
