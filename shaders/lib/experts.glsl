// The skinny kernels over a stack of matrices: workgroup (x, y) makes tile y of the outputs of the x-th expert that has rows, COLS of its slots
// at a time while more than half as many are left, then one by one, so that few slots do not pay for many columns. Its weights come from memory
// once for all rows that want it. A slot's output depends on its own row of x alone: which slots share a workgroup decides how many columns are
// computed beside it, not how. Workgroups without an expert lie between others, since CPU drivers divide workgroups among cores in their order.
void take_slots(uint first, uint number) {
  columns = number;
  [[unroll]] for (uint c = 0u; c < COLS; ++c) {
    slots[c] = groups[first + min(c, number - 1u)];
    x_starts[c] = slots[c] / push.row_slots * push.x_stride >> 2;
  }
}

void main() {
  const uint at = 1u + 3u * gl_WorkGroupID.x;
  if (gl_WorkGroupID.x >= groups[0]) return;
  const uint expert = groups[at], first = push.list + groups[at + 1u], count = groups[at + 2u];
  if (expert < push.begin || expert >= push.end) return;
  expert_row = (expert - push.begin) * push.n;
  uint done = 0u;
  // CPU drivers compute both branches of a condition, but no round of a loop that has none.
  for (; count - done > COLS / 2u; done += columns) {
    take_slots(first + done, min(COLS, count - done));
    multiply();
  }
  if (COLS == 1u) return;
  for (; done < count; ++done) {
    take_slots(first + done, 1u);
    multiply_column();
  }
}
