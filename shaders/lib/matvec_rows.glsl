// The product of matvec_rows.comp for COLUMNS columns of x. Sums, squares and held values are the first of the kernel's arrays.
void hold(uint first_column, uint block) {
  const uint at = block * QUADS + gl_LocalInvocationID.x % LOADERS;
  vec4 weight[LOADS];
  [[unroll]] for (uint i = 0; i < LOADS; ++i) {
    if (NORM != 0u) weight[i] = load_norm(at + i * LOADERS);
  }
  [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
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
  float block_sum[COLUMNS];
  [[unroll]] for (uint part = 0; part < 4; ++part) {
    vec4 a, b;
    expand_codes(raw, part, a, b);
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
      const uint qa = 2u * part, qb = 2u * part + 1u;
      const vec4 xa = subgroupShuffle(held[c * LOADS + qa / LOADERS], qa % LOADERS);
      const vec4 xb = subgroupShuffle(held[c * LOADS + qb / LOADERS], qb % LOADERS);
      // Chains of 8: one of 32 would wait for its own additions.
      precise float dot = dot8(a, b, xa, xb);
      precise float joined = part == 0u ? dot : block_sum[c] + dot;
      block_sum[c] = joined;
    }
  }
  [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
    precise float total = fma(block_scale(raw), block_sum[c], sum[r * COLUMNS + c]);
    sum[r * COLUMNS + c] = total;
  }
}

// 1 / RMS of column c: the lanes' squares in lane order.
float column_scale(uint c) {
  precise float total = 0.0;
  [[unroll]] for (uint i = 0; i < LOADERS; ++i) total += subgroupShuffle(squares[c], i);
  return norm_scale(total);
}

void store_largest(uint c, uint column) {
  Best mine = Best(NO_INDEX, LOWEST, LOWEST);
  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    if (output_row(r) < push.n) offer(mine, push.y_first + output_row(r), finished(output_row(r), sum[r * COLUMNS + c]));
  }
  Best best = Best(NO_INDEX, LOWEST, LOWEST);
  [[unroll]] for (uint i = 0; i < LANES; ++i) {
    join(best, Best(subgroupShuffle(mine.index, i), subgroupShuffle(mine.largest, i), subgroupShuffle(mine.second, i)));
  }
  precise float exponentials = 0.0;
  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    const float logit = finished(output_row(r), sum[r * COLUMNS + c]);
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
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; ++i) sum[i] = 0.0;
  [[unroll]] for (uint c = 0; c < COLUMNS; ++c) squares[c] = 0.0;

  for (uint block = 0; block < push.blocks; ++block) {
    hold(first_column, block);
    [[unroll]] for (uint r = 0; r < ROWS; ++r) add_row(r, first_unit[r] + block / UNIT * INTERLEAVE, block);
  }

  [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
    const uint column = first_column + c;
    if (NORM != 0u) {
      const float scale = column_scale(c);
      [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        precise float scaled = sum[r * COLUMNS + c] * scale;
        sum[r * COLUMNS + c] = scaled;
      }
    }
    if (EPILOGUE == MATVEC_ARGMAX || EPILOGUE == MATVEC_ARGMAX_CAPPED) {
      store_largest(c, column);
    } else {
      [[unroll]] for (uint r = 0; r < ROWS_OUT; ++r) {
        const float value = sum[r * COLUMNS + c];
        store(output_row(r), column, PAIRS ? gated(output_row(r), value, sum[(r + ROWS - ROWS_OUT) * COLUMNS + c]) : value);
      }
    }
  }
}
