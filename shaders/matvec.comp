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
uint output_row(uint row_lane, uint r) { return (TILE * ROW_LANES + row_lane) * ROWS_OUT + r % ROWS_OUT; }

// Where K lane `k` leaves its sum for output `o`, or its squares of column `o`. Four lanes' sums are neighbours, and fours begin one later
// for every output: lanes that add different outputs thus read different banks of shared memory.
const uint NEIGHBOURS = K_LANES < 4u ? K_LANES : 4u;
uint shared_at(uint o, uint k) { return o * K_LANES + (k + NEIGHBOURS * o) % K_LANES; }

#define COLUMNS COLS
#include "lib/matvec_lanes.glsl"
#if defined(EXPERTS)
#undef COLUMNS
#define COLUMNS 1u
#define total_of total_of_column
#define logit_of logit_of_column
#define store_largest store_largest_of_column
#define reduce reduce_column
#define multiply multiply_column
#include "lib/matvec_lanes.glsl"
#undef multiply
#include "lib/experts.glsl"
#endif
