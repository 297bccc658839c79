// Where rows of a pass stand and where their keys are; include lib/step_state.glsl and define TREE first. Without TREE rows follow each other:
// row i stands at base + i, and so do its K and V. With it (token trees, arXiv 2305.09781) a row stands behind its ancestors: its position is
// base + depth, its K and V are at base + i all the same, and it reads those of its ancestors in the order of their positions.
uint row_position(uint row) { return state.base + (TREE != 0u ? state.depths[row] : row); }

// Where K and V of text position `key` are, as row `row` sees it. key <= row_position(row).
uint key_slot(uint row, uint key) {
  if (TREE == 0u || key < state.base) return key;
  const uint depth = key - state.base;
  return state.base + (state.paths[row * STEP_PATH_WORDS + depth / 4u] >> (8u * (depth % 4u)) & 255u);
}
