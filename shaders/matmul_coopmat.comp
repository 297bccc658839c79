#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
// y = x * W^T (+ bias) (+ residual) for many columns (prefill) on the device's matrix units: the tiles of matmul.comp with HALF_PRECISION,
// multiplied as matrices of half precision with sums in floats. Each output adds its products in blocks of COOP_K in order of k; the order
// within a block is the device's.
#include "lib/stage.glsl"
#include "abi/matmul_coopmat.h"

MATMUL_COOPMAT_SPEC(SK_CONSTANT)
#define TILE_QUADS MATMUL_COOPMAT_TILE_QUADS
#define HALF_PRECISION
#include "lib/matmul.glsl"

#define Columns coopmat<float16_t, gl_ScopeSubgroup, COOP_M, COOP_K, gl_MatrixUseA>
#define Rows coopmat<float16_t, gl_ScopeSubgroup, COOP_K, COOP_N, gl_MatrixUseB>
#define Sums coopmat<float, gl_ScopeSubgroup, COOP_M, COOP_N, gl_MatrixUseAccumulator>

const uint PARTS_N = TILE_N / PART_N, SUBGROUPS = PARTS_N * (TILE_M / PART_M);
const uint ACROSS = PART_N / COOP_N, DOWN = PART_M / COOP_M, MATRIX = COOP_M * COOP_N;
const uint LANES_PER_SUBGROUP = LANES / SUBGROUPS;
shared float finished[SUBGROUPS * MATRIX];   // one matrix of sums per subgroup on its way out

void main() {
  prepare_table();
  const uint part_n = gl_SubgroupID % PARTS_N * PART_N, part_m = gl_SubgroupID / PARTS_N * PART_M;
  const uint first_row = gl_WorkGroupID.x * TILE_N, first_column = gl_WorkGroupID.y * TILE_M;

  Sums sum[ACROSS * DOWN];
  [[unroll]] for (uint i = 0; i < ACROSS * DOWN; ++i) sum[i] = Sums(0.0);

  fetch(first_row, first_column, 0);
  for (uint block = 0; block < push.blocks; ++block) {
    stage();
    barrier();
    if (block + 1u < push.blocks) fetch(first_row, first_column, block + 1u);
    [[unroll]] for (uint k = 0; k < 32; k += COOP_K) {
      Columns v[DOWN];
      [[unroll]] for (uint m = 0; m < DOWN; ++m)
        coopMatLoad(v[m], tile_x, (part_m + m * COOP_M) * TILE_QUADS + k / 4u, TILE_QUADS, gl_CooperativeMatrixLayoutRowMajor);
      [[unroll]] for (uint n = 0; n < ACROSS; ++n) {
        Rows w;   // a row of W is a column of this matrix
        coopMatLoad(w, tile_w, (part_n + n * COOP_N) * TILE_QUADS + k / 4u, TILE_QUADS, gl_CooperativeMatrixLayoutColumnMajor);
        [[unroll]] for (uint m = 0; m < DOWN; ++m) sum[n * DOWN + m] = coopMatMulAdd(v[m], w, sum[n * DOWN + m]);
      }
    }
    barrier();
  }

  // Which lane holds which sum is the device's affair, so they go through shared memory, where each has its place.
  const uint from = gl_SubgroupID * MATRIX;
  [[unroll]] for (uint n = 0; n < ACROSS; ++n) {
    [[unroll]] for (uint m = 0; m < DOWN; ++m) {
      coopMatStore(sum[n * DOWN + m], finished, from, COOP_N, gl_CooperativeMatrixLayoutRowMajor);
      barrier();
      for (uint i = gl_SubgroupInvocationID; i < MATRIX; i += LANES_PER_SUBGROUP) {
        const uint column = first_column + part_m + m * COOP_M + i / COOP_N;
        store(first_row + part_n + n * COOP_N + i % COOP_N, column, finished[from + i] * column_scale(column));
      }
      barrier();
    }
  }
}
