// The product of matvec.comp for COLUMNS columns of x. What is shared lies in the first words of the kernel's arrays.
float total_of(uint row_lane, uint r, uint c) { return totals[(r * COLUMNS + c) * ROW_LANES + row_lane]; }

// Rows of the workgroup in output order: i-th of ROWS_OUT * ROW_LANES.
float logit_of(uint i, uint c) { return finished(output_row(i / ROWS_OUT, i % ROWS_OUT), total_of(i / ROWS_OUT, i % ROWS_OUT, c)); }

void store_largest(uint c, uint column) {
  Best best = Best(NO_INDEX, LOWEST, LOWEST);
  const uint first = TILE * ROWS_OUT * ROW_LANES, count = min(ROWS_OUT * ROW_LANES, push.n - first);
  for (uint i = 0; i < count; ++i) offer(best, push.y_first + first + i, logit_of(i, c));
  precise float sum = 0.0;
  for (uint i = 0; i < count; ++i) {
    const float logit = logit_of(i, c);
    if (logit > LOWEST) sum += exp(logit - best.largest);
  }
  partials[partial_at(column, ROW_LANES)] = Partial(best.index, best.largest, best.second, sum);
}

// Adds the K lanes' sums in lane order, and applies the norm's scale.
void reduce() {
  for (uint o = gl_LocalInvocationID.x; o < ROWS * COLUMNS * ROW_LANES; o += LANES) {
    const uint column = o / ROW_LANES % COLUMNS;
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

  precise float sum[ROWS * COLUMNS];
  precise float squares[COLUMNS];
  uint first_unit[ROWS];
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; ++i) sum[i] = 0.0;
  [[unroll]] for (uint c = 0; c < COLUMNS; ++c) squares[c] = 0.0;
  [[unroll]] for (uint r = 0; r < ROWS; ++r) first_unit[r] = unit_of(matrix_row(output_row(row_lane, r), r >= ROWS_OUT), 0u, push.blocks);

  for (uint block = k_lane; block < push.blocks; block += K_LANES) {
    Block raw[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r) raw[r] = load_block(first_unit[r] + block / UNIT * INTERLEAVE, block);
    [[unroll]] for (uint part = 0; part < 4; ++part) {
      vec4 a[ROWS], b[ROWS];
      [[unroll]] for (uint r = 0; r < ROWS; ++r) expand(raw[r], part, a[r], b[r]);
      const uint quad = block * 8u + part * 2u;
      [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
        const uint at = X_START(c) + quad;
        precise vec4 xa = load_x(at);
        precise vec4 xb = load_x(at + 1u);
        if (NORM != 0u) {
          squares[c] = squares4(xb, squares4(xa, squares[c]));
          xa *= load_norm(quad);
          xb *= load_norm(quad + 1u);
        }
        [[unroll]] for (uint r = 0; r < ROWS; ++r) sum[r * COLUMNS + c] = fma8(a[r], b[r], xa, xb, sum[r * COLUMNS + c]);
      }
    }
  }

  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; ++i) partial[shared_at(i * ROW_LANES + row_lane, k_lane)] = sum[i];
  if (NORM != 0u && row_lane == 0u) {
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) partial_squares[shared_at(c, k_lane)] = squares[c];
  }
  barrier();
  reduce();
  barrier();
  if (EPILOGUE == MATVEC_ARGMAX || EPILOGUE == MATVEC_ARGMAX_CAPPED) {
    for (uint c = lane; c < COLUMNS; c += LANES) store_largest(c, first_column + c);
    return;
  }
  for (uint o = lane; o < ROWS_OUT * COLUMNS * ROW_LANES; o += LANES) {
    const uint r = o / ROW_LANES / COLUMNS, c = o / ROW_LANES % COLUMNS, lanes_row = o % ROW_LANES;
    const float value = total_of(lanes_row, r, c);
    const uint row = output_row(lanes_row, r);
    store(row, first_column + c, PAIRS ? gated(row, value, total_of(lanes_row, r + ROWS - ROWS_OUT, c)) : value);
  }
}
