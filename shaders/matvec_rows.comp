#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require
// y[c][n] = sum_k W[n][k] * x[c][k] (+ bias[n]) (+ residual[c][n]) for COLS columns c, lanes side by side on output rows. Optionally x is
// RMS-normalised on the way in, and silu(gate) * up or the largest output comes out.
//
// Shapes and buffers as in matvec.comp. The workgroup is one subgroup of LANES lanes; a lane makes ROWS output rows for COLS columns and
// walks all of K, so there is nothing to reduce. A block of x is loaded once by the subgroup, LANES float4 at a time, and shuffled: on CPU
// drivers a storage-buffer load costs a scalar load per lane, a shuffle one instruction (docs/vulkan.md). K_LANES is 1. A row's 32 weights
// meet all columns before the next row's are expanded, so that few sums are live at a time.
//
// Numerics contract (docs/numerics.md): an output is, block after block, scale * (sum of four chains over 8 weights each, in order) added
// to the sum; then the norm's scale. COLS only adds columns.
#include "lib/stage.glsl"
#include "lib/matvec.glsl"

const uint QUADS = 8u;                                            // float4 of x in a block of 32
const uint LOADERS = LANES < QUADS ? LANES : QUADS;               // lanes that hold different float4
const uint LOADS = (QUADS + LOADERS - 1u) / LOADERS;

vec4 held[COLS * LOADS];         // lane l holds float4 l, l + LOADERS, ... of the block, of every column
float sum[OUTPUTS];
float squares[COLS];             // of the values that this lane has held

void hold(uint first_column, uint block) {
  const uint at = block * QUADS + gl_LocalInvocationID.x % LOADERS;
  vec4 weight[LOADS];
  [[unroll]] for (uint i = 0; i < LOADS; ++i) {
    if (NORM != 0u) weight[i] = load_norm(at + i * LOADERS);
  }
  [[unroll]] for (uint c = 0; c < COLS; ++c) {
    [[unroll]] for (uint i = 0; i < LOADS; ++i) {
      precise vec4 v = load_x(X_START(c) + at + i * LOADERS);
      if (NORM != 0u) {
        squares[c] = squares4(v, squares[c]);
        v *= weight[i];
      }
      held[c * LOADS + i] = v;
    }
  }
}

void add_row(uint r, uint unit, uint block) {
  const Block raw = load_block(unit, block);
  float block_sum[COLS];
  [[unroll]] for (uint part = 0; part < 4; ++part) {
    vec4 a, b;
    expand_codes(raw, part, a, b);
    [[unroll]] for (uint c = 0; c < COLS; ++c) {
      const uint qa = 2u * part, qb = 2u * part + 1u;
      const vec4 xa = subgroupShuffle(held[c * LOADS + qa / LOADERS], qa % LOADERS);
      const vec4 xb = subgroupShuffle(held[c * LOADS + qb / LOADERS], qb % LOADERS);
      // Chains of 8: one of 32 would wait for its own additions.
      precise float dot = dot8(a, b, xa, xb);
      precise float joined = part == 0u ? dot : block_sum[c] + dot;
      block_sum[c] = joined;
    }
  }
  [[unroll]] for (uint c = 0; c < COLS; ++c) {
    precise float total = fma(block_scale(raw), block_sum[c], sum[r * COLS + c]);
    sum[r * COLS + c] = total;
  }
}

// 1 / RMS of column c: the lanes' squares in lane order.
float column_scale(uint c) {
  precise float total = 0.0;
  [[unroll]] for (uint i = 0; i < LOADERS; ++i) total += subgroupShuffle(squares[c], i);
  return norm_scale(total);
}

// The output row of this lane's r-th row.
uint output_row(uint r) { return (gl_WorkGroupID.x * ROWS_OUT + r % ROWS_OUT) * LANES + gl_LocalInvocationID.x; }

void store_largest(uint c, uint column) {
  Best mine = Best(NO_INDEX, LOWEST, LOWEST);
  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    if (output_row(r) < push.n) offer(mine, push.y_first + output_row(r), finished(output_row(r), sum[r * COLS + c]));
  }
  Best best = Best(NO_INDEX, LOWEST, LOWEST);
  [[unroll]] for (uint i = 0; i < LANES; ++i) {
    join(best, Best(subgroupShuffle(mine.index, i), subgroupShuffle(mine.largest, i), subgroupShuffle(mine.second, i)));
  }
  precise float exponentials = 0.0;
  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    const float logit = finished(output_row(r), sum[r * COLS + c]);
    if (output_row(r) < push.n && logit > LOWEST) exponentials += exp(logit - best.largest);
  }
  precise float total = 0.0;
  [[unroll]] for (uint i = 0; i < LANES; ++i) total += subgroupShuffle(exponentials, i);
  if (gl_LocalInvocationID.x == 0u) partials[partial_at(column, LANES)] = Partial(best.index, best.largest, best.second, total);
}

void MATVEC_MAIN() {
  prepare_table();
  const uint first_column = FIRST_COLUMN;
  uint first_unit[ROWS];
  [[unroll]] for (uint r = 0; r < ROWS; ++r) first_unit[r] = unit_of(matrix_row(output_row(r), r >= ROWS_OUT), 0u, push.blocks);
  [[unroll]] for (uint i = 0; i < OUTPUTS; ++i) sum[i] = 0.0;
  [[unroll]] for (uint c = 0; c < COLS; ++c) squares[c] = 0.0;

  for (uint block = 0; block < push.blocks; ++block) {
    hold(first_column, block);
    [[unroll]] for (uint r = 0; r < ROWS; ++r) add_row(r, first_unit[r] + block / UNIT * INTERLEAVE, block);
  }

  [[unroll]] for (uint c = 0; c < COLS; ++c) {
    const uint column = first_column + c;
    if (NORM != 0u) {
      const float scale = column_scale(c);
      [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        precise float scaled = sum[r * COLS + c] * scale;
        sum[r * COLS + c] = scaled;
      }
    }
    if (EPILOGUE == MATVEC_ARGMAX || EPILOGUE == MATVEC_ARGMAX_CAPPED) {
      store_largest(c, column);
    } else {
      [[unroll]] for (uint r = 0; r < ROWS_OUT; ++r) {
        const float value = sum[r * COLS + c];
        store(output_row(r), column, PAIRS ? gated(output_row(r), value, sum[(r + ROWS - ROWS_OUT) * COLS + c]) : value);
      }
    }
  }
}
#if defined(EXPERTS)
#include "lib/experts.glsl"
#endif
