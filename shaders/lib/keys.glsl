// Where rows of a pass stand and where their keys are; include lib/step_state.glsl and define KEYS first. With KEYS_TEXT rows follow each other:
// row i stands at base + i, and so do its K and V. With KEYS_TREE (token trees, arXiv 2305.09781) a row stands behind its ancestors: its position
// is base + depth, its K and V are at base + i all the same, and it reads those of its ancestors in the order of their positions. With
// KEYS_WINDOW (arXiv 2309.17453) rows stand as with KEYS_TEXT, and read the first window[0] positions and the last window[1] up to their own.
// Where the layer has a window of its own (WINDOWED), the first of these keys is not the first that is seen.
uint row_position(uint row) { return state.base + (KEYS == KEYS_TREE ? state.depths[row] : row); }

// How many keys row `row` attends to.
uint row_keys(uint row) {
  const uint keys = row_position(row) + 1u;
  return KEYS == KEYS_WINDOW ? min(keys, state.window[0] + state.window[1]) : keys;
}

#if defined(SK_LAYER_WINDOW)
// The first key that row `row` sees.
uint first_key(uint row) {
  const uint keys = row_keys(row);
  return WINDOWED != 0u && keys > push.window ? keys - push.window : 0u;
}
#endif

// Where K and V of its key `key` are; keys are counted from 0 in the order of their positions. key < row_keys(row).
uint key_slot(uint row, uint key) {
  if (KEYS == KEYS_WINDOW) return key < state.window[0] ? key : key + (row_position(row) + 1u - row_keys(row));
  if (KEYS == KEYS_TEXT || key < state.base) return key;
  const uint depth = key - state.base;
  return state.base + (state.paths[row * STEP_PATH_WORDS + depth / 4u] >> (8u * (depth % 4u)) & 255u);
}
