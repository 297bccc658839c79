// The tiled kernels: matmul.comp, in floats and in halves, and matmul_coopmat.comp.
#ifndef SKIPSTONE_ABI_MATMUL_H
#define SKIPSTONE_ABI_MATMUL_H
#include "matvec.h"
#define MATMUL_BUFFERS 6
#define MATMUL_TILE_QUADS 9   // a staged row: 32 values in vectors of four, and one vector of skew against bank conflicts
// A tile of TILE_N output rows x TILE_M columns; a lane computes LANE_N x LANE_M of it. LANES = TILE_N/LANE_N * TILE_M/LANE_M.
#define MATMUL_SPEC(CONSTANT)                                                                               \
  CONSTANT(0, LANES, 64) CONSTANT(1, TILE_N, 32) CONSTANT(2, TILE_M, 32) CONSTANT(3, LANE_N, 4) CONSTANT(4, LANE_M, 4) \
  CONSTANT(5, ADD_BIAS, 0) CONSTANT(6, ADD_RESIDUAL, 0) CONSTANT(7, INTERLEAVE, 1) CONSTANT(8, SHARED_TABLE, 0)
// x_stride: 32-bit words per column, whatever they hold.
#define MATMUL_PUSH(FIELD) MATVEC_PUSH(FIELD)
#endif
