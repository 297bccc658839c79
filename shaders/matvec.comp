#version 450
#extension GL_GOOGLE_include_directive : require
// y[c][n] = sum_k W[n][k] * x[c][k] (+ bias[n]) (+ residual[c][n]) for COLS columns c. Optionally x is RMS-normalised on the way in (its
// weight here, its scale after the dot product), and silu(gate) * up or the largest output comes out.
//
// Shapes: W n x 32*blocks in the format's device layout, x [columns][x_stride], norm [32*blocks], y and residual [columns][y_stride],
// bias [n]. A workgroup makes (LANES / K_LANES) * ROWS matrix rows for COLS columns; workgroup y takes the next COLS columns.
// Bytes: every weight once per workgroup column tile; x once per ROWS matrix rows of a lane.
//
// Numerics contract (docs/numerics.md): an output is one chain of fma per K lane, blocks k_lane, k_lane + K_LANES, ..., weights in order;
// then the K lanes' sums are added in lane order. COLS only adds chains. K_LANES depends on the device and K alone.
// Devices whose lanes are better put side by side on output rows take matvec_rows.comp instead.
#include "lib/stage.glsl"
#include "lib/matvec.glsl"

const uint ROW_LANES = LANES / K_LANES;
shared float partial[OUTPUTS * LANES];
shared float partial_squares[COLS * K_LANES];
shared float totals[OUTPUTS * ROW_LANES];   // [row of lane][column][row lane]

// Output row of a row lane's r-th row.
uint output_row(uint row_lane, uint r) { return (gl_WorkGroupID.x * ROW_LANES + row_lane) * ROWS_OUT + r % ROWS_OUT; }
float total_of(uint row_lane, uint r, uint c) { return totals[(r * COLS + c) * ROW_LANES + row_lane]; }

// Rows of the workgroup in output order: i-th of ROWS_OUT * ROW_LANES.
float logit_of(uint i, uint c) { return finished(output_row(i / ROWS_OUT, i % ROWS_OUT), total_of(i / ROWS_OUT, i % ROWS_OUT, c)); }

void store_largest(uint c, uint column) {
  Best best = Best(NO_INDEX, LOWEST, LOWEST);
  const uint first = gl_WorkGroupID.x * ROWS_OUT * ROW_LANES, count = min(ROWS_OUT * ROW_LANES, push.n - first);
  for (uint i = 0; i < count; ++i) offer(best, push.y_first + first + i, logit_of(i, c));
  precise float sum = 0.0;
  for (uint i = 0; i < count; ++i) {
    const float logit = logit_of(i, c);
    if (logit > LOWEST) sum += exp(logit - best.largest);
  }
  partials[partial_at(column, ROW_LANES)] = Partial(best.index, best.largest, best.second, sum);
}

// Where K lane `k` leaves its sum for output `o`, or its squares of column `o`. Four lanes' sums are neighbours, and fours begin one later
// for every output: lanes that add different outputs thus read different banks of shared memory.
const uint NEIGHBOURS = K_LANES < 4u ? K_LANES : 4u;
uint shared_at(uint o, uint k) { return o * K_LANES + (k + NEIGHBOURS * o) % K_LANES; }

// Adds the K lanes' sums in lane order, and applies the norm's scale.
void reduce() {
  for (uint o = gl_LocalInvocationID.x; o < OUTPUTS * ROW_LANES; o += LANES) {
    const uint column = o / ROW_LANES % COLS;
    precise float total = 0.0, squares = 0.0;
    for (uint k = 0; k < K_LANES; k += NEIGHBOURS) {
      const uint at = shared_at(o, k), squares_at = shared_at(column, k);
      [[unroll]] for (uint i = 0; i < NEIGHBOURS; ++i) {
        total += partial[at + i];
        if (NORM != 0u) squares += partial_squares[squares_at + i];
      }
    }
    totals[o] = NORM != 0u ? total * norm_scale(squares) : total;
  }
}

void MATVEC_MAIN() {
  prepare_table();
  const uint lane = gl_LocalInvocationID.x;
  const uint k_lane = lane % K_LANES, row_lane = lane / K_LANES;
  const uint first_column = FIRST_COLUMN;

  precise float sum[OUTPUTS];
  precise float squares[COLS];
  uint first_unit[ROWS];
  [[unroll]] for (uint i = 0; i < OUTPUTS; ++i) sum[i] = 0.0;
  [[unroll]] for (uint c = 0; c < COLS; ++c) squares[c] = 0.0;
  [[unroll]] for (uint r = 0; r < ROWS; ++r) first_unit[r] = unit_of(matrix_row(output_row(row_lane, r), r >= ROWS_OUT), 0u, push.blocks);

  for (uint block = k_lane; block < push.blocks; block += K_LANES) {
    Block raw[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r) raw[r] = load_block(first_unit[r] + block / UNIT * INTERLEAVE, block);
    [[unroll]] for (uint part = 0; part < 4; ++part) {
      vec4 a[ROWS], b[ROWS];
      [[unroll]] for (uint r = 0; r < ROWS; ++r) expand(raw[r], part, a[r], b[r]);
      const uint quad = block * 8u + part * 2u;
      [[unroll]] for (uint c = 0; c < COLS; ++c) {
        const uint at = X_START(c) + quad;
        precise vec4 xa = load_x(at);
        precise vec4 xb = load_x(at + 1u);
        if (NORM != 0u) {
          squares[c] = squares4(xb, squares4(xa, squares[c]));
          xa *= load_norm(quad);
          xb *= load_norm(quad + 1u);
        }
        [[unroll]] for (uint r = 0; r < ROWS; ++r) sum[r * COLS + c] = fma8(a[r], b[r], xa, xb, sum[r * COLS + c]);
      }
    }
  }

  [[unroll]] for (uint i = 0; i < OUTPUTS; ++i) partial[shared_at(i * ROW_LANES + row_lane, k_lane)] = sum[i];
  if (NORM != 0u && row_lane == 0u) {
    [[unroll]] for (uint c = 0; c < COLS; ++c) partial_squares[shared_at(c, k_lane)] = squares[c];
  }
  barrier();
  reduce();
  barrier();
  if (EPILOGUE == MATVEC_ARGMAX || EPILOGUE == MATVEC_ARGMAX_CAPPED) {
    for (uint c = lane; c < COLS; c += LANES) store_largest(c, first_column + c);
    return;
  }
  for (uint o = lane; o < ROWS_OUT * COLS * ROW_LANES; o += LANES) {
    const uint r = o / ROW_LANES / COLS, c = o / ROW_LANES % COLS, lanes_row = o % ROW_LANES;
    const float value = total_of(lanes_row, r, c);
    const uint row = output_row(lanes_row, r);
    store(row, first_column + c, PAIRS ? gated(row, value, total_of(lanes_row, r + ROWS - ROWS_OUT, c)) : value);
  }
}
#if defined(EXPERTS)
#include "lib/experts.glsl"
#endif
