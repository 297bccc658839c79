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
// Devices whose lanes are better put side by side on output rows take matvec_rows.comp instead.
#include "lib/stage.glsl"
#include "lib/matvec.glsl"

const uint ROW_LANES = LANES / K_LANES;
shared float partial[OUTPUTS * LANES];

void main() {
  const uint lane = gl_LocalInvocationID.x;
  const uint k_lane = lane % K_LANES, row_lane = lane / K_LANES;
  const uint first_row = (gl_WorkGroupID.x * ROW_LANES + row_lane) * ROWS;
  const uint first_column = gl_WorkGroupID.y * COLS;

  precise float sum[OUTPUTS];
  [[unroll]] for (uint i = 0; i < OUTPUTS; ++i) sum[i] = 0.0;

  for (uint block = k_lane; block < push.blocks; block += K_LANES) {
    Block raw[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r) raw[r] = load_block(unit_of(min(first_row + r, push.n - 1u), block, push.blocks), block);
    [[unroll]] for (uint part = 0; part < 4; ++part) {
      vec4 a[ROWS], b[ROWS];
      [[unroll]] for (uint r = 0; r < ROWS; ++r) expand(raw[r], part, a[r], b[r]);
      [[unroll]] for (uint c = 0; c < COLS; ++c) {
        const uint at = ((first_column + c) * push.x_stride >> 2) + block * 8u + part * 2u;
        const vec4 xa = load_x(at), xb = load_x(at + 1u);
        [[unroll]] for (uint r = 0; r < ROWS; ++r) sum[r * COLS + c] = fma8(a[r], b[r], xa, xb, sum[r * COLS + c]);
      }
    }
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
