#version 450
#extension GL_GOOGLE_include_directive : require
// y[c][n] = sum_k W[n][k] * x[c][k] (+ bias[n]) (+ residual[c][n]) for COLS columns c.
//
// Shapes: W n x 32*blocks in the format's device layout, x [columns][x_stride], y and residual [columns][y_stride], bias [n].
// A workgroup makes (LANES / K_LANES) * ROWS output rows for COLS columns; workgroup y takes the next COLS columns (prefill).
// Bytes: every weight once per workgroup column tile; x once per ROWS output rows of a lane.
//
// Numerics contract (docs/numerics.md): an output is one chain of fma per K lane, blocks k_lane, k_lane + K_LANES, ..., weights in order;
// then the K lanes' sums are added in lane order. COLS only adds chains. K_LANES depends on the device alone.
// With K_LANES = 1 x is read at the same address by all lanes, which CPU drivers turn into one load and a broadcast.
#include "lib/stage.glsl"
#include "abi/matvec.h"

MATVEC_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { MATVEC_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = MATVEC_WEIGHTS) readonly buffer Weights { uvec4 weights[]; };
layout(std430, set = 0, binding = MATVEC_SCALES) readonly buffer Scales { uint scales[]; };
layout(std430, set = 0, binding = MATVEC_X) readonly buffer X { vec4 x[]; };
layout(std430, set = 0, binding = MATVEC_Y) writeonly buffer Y { float y[]; };
layout(std430, set = 0, binding = MATVEC_BIAS) readonly buffer Bias { float bias[]; };
layout(std430, set = 0, binding = MATVEC_RESIDUAL) readonly buffer Residual { float residual[]; };

#include "lib/quant.glsl"

const uint ROW_LANES = LANES / K_LANES;
const uint OUTPUTS = ROWS * COLS;
shared float partial[K_LANES == 1u ? 1u : OUTPUTS * LANES];

void store(uint row, uint column, float value) {
  if (row >= push.n) return;
  precise float result = value;
  if (ADD_BIAS != 0u) result += bias[push.y_first + row];
  const uint at = column * push.y_stride + push.y_first + row;
  if (ADD_RESIDUAL != 0u) result += residual[at];
  y[at] = result;
}

void main() {
  const uint lane = gl_LocalInvocationID.x;
  const uint k_lane = K_LANES == 1u ? 0u : lane % K_LANES;
  const uint row_lane = K_LANES == 1u ? lane : lane / K_LANES;
  const uint first_row = (gl_WorkGroupID.x * ROW_LANES + row_lane) * ROWS;
  const uint first_column = gl_WorkGroupID.y * COLS;

  precise float sum[OUTPUTS];
  [[unroll]] for (uint i = 0; i < OUTPUTS; ++i) sum[i] = 0.0;

  for (uint block = k_lane; block < push.blocks; block += K_LANES) {
    Block raw[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r) raw[r] = load_block(min(first_row + r, push.n - 1u) * push.blocks + block);
    [[unroll]] for (uint part = 0; part < 4; ++part) {
      vec4 a[ROWS], b[ROWS];
      [[unroll]] for (uint r = 0; r < ROWS; ++r) expand(raw[r], part, a[r], b[r]);
      [[unroll]] for (uint c = 0; c < COLS; ++c) {
        const uint at = ((first_column + c) * push.x_stride >> 2) + block * 8u + part * 2u;
        const vec4 xa = x[at], xb = x[at + 1u];
        [[unroll]] for (uint r = 0; r < ROWS; ++r) {
          precise float s = sum[r * COLS + c];
          s = fma(a[r].x, xa.x, s);
          s = fma(a[r].y, xa.y, s);
          s = fma(a[r].z, xa.z, s);
          s = fma(a[r].w, xa.w, s);
          s = fma(b[r].x, xb.x, s);
          s = fma(b[r].y, xb.y, s);
          s = fma(b[r].z, xb.z, s);
          s = fma(b[r].w, xb.w, s);
          sum[r * COLS + c] = s;
        }
      }
    }
  }

  if (K_LANES == 1u) {
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
      [[unroll]] for (uint c = 0; c < COLS; ++c) store(first_row + r, first_column + c, sum[r * COLS + c]);
    }
    return;
  }
  [[unroll]] for (uint i = 0; i < OUTPUTS; ++i) partial[i * LANES + lane] = sum[i];
  barrier();
  for (uint o = lane; o < OUTPUTS * ROW_LANES; o += LANES) {
    const uint output_index = o / ROW_LANES, lanes_row = o % ROW_LANES;
    precise float total = 0.0;
    for (uint k = 0; k < K_LANES; ++k) total += partial[output_index * LANES + lanes_row * K_LANES + k];
    store((gl_WorkGroupID.x * ROW_LANES + lanes_row) * ROWS + output_index / COLS, first_column + output_index % COLS, total);
  }
}
