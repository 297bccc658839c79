#ifndef SKIPSTONE_ABI_MATMUL_COOPMAT_H
#define SKIPSTONE_ABI_MATMUL_COOPMAT_H
#include "matvec.h"
#define MATMUL_COOPMAT_BUFFERS 7
#define MATMUL_COOPMAT_TILE_QUADS 10   // as MATMUL_TILE_QUADS; rows of matrices must start at whole 16 bytes
// A tile of TILE_N output rows x TILE_M columns; a subgroup computes PART_N x PART_M of it with matrices of COOP_M columns of x, COOP_N
// output rows and COOP_K products, all powers of two. LANES: TILE_N/PART_N * TILE_M/PART_M whole subgroups.
#define MATMUL_COOPMAT_SPEC(CONSTANT)                                                                       \
  CONSTANT(0, LANES, 32) CONSTANT(1, TILE_N, 32) CONSTANT(2, TILE_M, 32) CONSTANT(3, PART_N, 16) CONSTANT(4, PART_M, 16) \
  CONSTANT(5, COOP_M, 8) CONSTANT(6, COOP_N, 8) CONSTANT(7, COOP_K, 8) CONSTANT(8, ADD_BIAS, 0) CONSTANT(9, ADD_RESIDUAL, 0) \
  CONSTANT(10, INTERLEAVE, 1) CONSTANT(11, SHARED_TABLE, 0) CONSTANT(12, SCALED, 0)
#define MATMUL_COOPMAT_PUSH(FIELD) MATVEC_PUSH(FIELD)
#endif
