// Shared by the skinny kernel (matvec.comp, 1..16 columns) and the tiled one (matmul.comp): same buffers, same push constants.
#ifndef SKIPSTONE_ABI_MATVEC_H
#define SKIPSTONE_ABI_MATVEC_H
#define MATVEC_BUFFERS 6
#define MATVEC_WEIGHTS 0
#define MATVEC_SCALES 1
#define MATVEC_X 2
#define MATVEC_Y 3
#define MATVEC_BIAS 4
#define MATVEC_RESIDUAL 5
// LANES = row lanes * K_LANES. ROWS: output rows per lane. COLS: columns of x in one workgroup.
#define MATVEC_SPEC(CONSTANT)                                                                                   \
  CONSTANT(0, LANES, 32) CONSTANT(1, K_LANES, 32) CONSTANT(2, ROWS, 4) CONSTANT(3, COLS, 1) CONSTANT(4, ADD_BIAS, 0) \
  CONSTANT(5, ADD_RESIDUAL, 0)
// n: output rows of this part. blocks: 32-weight blocks of a row. x_stride, y_stride: floats per column. y_first: where this part's rows start.
#define MATVEC_PUSH(FIELD) FIELD(uint, n) FIELD(uint, blocks) FIELD(uint, x_stride) FIELD(uint, y_stride) FIELD(uint, y_first)
#endif
