// The skinny kernels over a stack of matrices: workgroup y makes the outputs of the y-th expert that has rows, COLS of its slots at a time, so
// that its weights are read once for all rows that want it. A slot's output depends on its own row of x alone: which slots share a workgroup
// decides how many columns are computed beside it, not how.
void main() {
  const uint at = 1u + 3u * gl_WorkGroupID.y;
  if (gl_WorkGroupID.y >= groups[0]) return;
  const uint expert = groups[at], first = push.list + groups[at + 1u], count = groups[at + 2u];
  if (expert < push.begin || expert >= push.end) return;
  expert_row = (expert - push.begin) * push.n;
  for (uint done = 0u; done < count; done += COLS) {
    columns = min(COLS, count - done);
    [[unroll]] for (uint c = 0u; c < COLS; ++c) {
      slots[c] = groups[first + done + min(c, columns - 1u)];
      x_starts[c] = slots[c] / push.row_slots * push.x_stride >> 2;
    }
    multiply();
  }
}
