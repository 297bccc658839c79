// Shared by the skinny kernels (matvec.comp, matvec_rows.comp) and the tiled one (matmul.comp): the same buffers but one, the same push
// constants.
#ifndef SKIPSTONE_ABI_MATVEC_H
#define SKIPSTONE_ABI_MATVEC_H
#define MATVEC_BUFFERS 8
#define MATVEC_WEIGHTS 0
#define MATVEC_SCALES 1
#define MATVEC_X 2
#define MATVEC_Y 3
#define MATVEC_BIAS 4
#define MATVEC_RESIDUAL 5
#define MATVEC_FACTORS 6
#define MATVEC_NORM 7   // the skinny kernels' alone
// LANES = row lanes * K_LANES. ROWS: matrix rows per lane. COLS: columns of x in one workgroup. INTERLEAVE: rows whose units alternate in
// the weights (docs/numerics.md). NORM: x is RMS-normalised on the way in. EPILOGUE: the operation on the sums, one of those below.
// SHARED_TABLE: a format's table is copied to shared memory. SCALED: the sums of W's rows are multiplied by the factors of the rows first.
#define MATVEC_SPEC(CONSTANT)                                                                                   \
  CONSTANT(0, LANES, 32) CONSTANT(1, K_LANES, 32) CONSTANT(2, ROWS, 4) CONSTANT(3, COLS, 1) CONSTANT(4, INTERLEAVE, 1) \
  CONSTANT(5, NORM, 0) CONSTANT(6, ADD_BIAS, 0) CONSTANT(7, ADD_RESIDUAL, 0) CONSTANT(8, EPILOGUE, 0) CONSTANT(9, SHARED_TABLE, 0) \
  CONSTANT(10, SCALED, 0)
#define MATVEC_STORE 0
// The matrix is gate above up, n rows each; y = silu(gate) * up, or gelu(gate) * up.
#define MATVEC_SWIGLU 1
#define MATVEC_GEGLU 3
// y = gelu(sum).
#define MATVEC_GELU 4
// y is not written: the workgroup's largest sum is (ARGMAX_PARTIAL_FIELDS of argmax_merge.h, [column][workgroup]).
#define MATVEC_ARGMAX 2
// The same, the sums first kept below push.cap.
#define MATVEC_STORE_CAPPED 5
#define MATVEC_ARGMAX_CAPPED 6
#define MATVEC_ARGMAX_ROWS 4  // a partial covers at least this many rows
// n: outputs of this part. blocks: 32-weight blocks of a row. x_stride, y_stride: floats per column (y_stride: partials per column for
// argmax). y_first: where this part's rows start; row_first: where they do in W, and in the factors. k: real length of a row of x; epsilon:
// the norm's. scale: of the sums with their biases, before a residual is added. cap: of the capped epilogues.
#define MATVEC_PUSH(FIELD)                                                                                                  \
  FIELD(uint, n)                                                                                                            \
  FIELD(uint, blocks) FIELD(uint, x_stride) FIELD(uint, y_stride) FIELD(uint, y_first) FIELD(uint, k) FIELD(float, epsilon) \
      FIELD(float, scale) FIELD(float, cap) FIELD(uint, row_first)
#endif
