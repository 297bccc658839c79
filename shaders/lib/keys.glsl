// The positions of a pass's rows and of their keys; include abi/kv_cache.h and lib/step_state.glsl and define KEYS first. With KEYS_TEXT
// the rows of a sequence follow each other: its row i is at base + i, and so are its K and V. With KEYS_TREE (token trees, arXiv
// 2305.09781) a row follows its ancestors: its position is base + depth, its K and V are at base + i all the same, and it reads those of
// its ancestors in the order of their positions. With KEYS_WINDOW (arXiv 2309.17453) rows are placed as with KEYS_TEXT, and read the first
// window[0] positions and the last window[1] up to their own. In a sliding-window layer (WINDOWED), the first of these keys is not the
// first that is seen. Positions of a text are found in the cache by pages (PagedAttention, arXiv 2309.06180); sliding-window layers have
// page tables of their own, from push.tables on, because their pages are freed when no row can see them any more.
uint row_base(uint row) { return state.bases[state.sequences[row]]; }
uint row_offset(uint row) { return row - state.first_rows[state.sequences[row]]; }   // among those of its sequence
uint row_position(uint row) { return row_base(row) + (KEYS == KEYS_TREE ? state.depths[row] : row_offset(row)); }

// How many keys row `row` attends to.
uint row_keys(uint row) {
  const uint keys = row_position(row) + 1u;
  return KEYS == KEYS_WINDOW ? min(keys, state.window[0] + state.window[1]) : keys;
}

#if defined(SK_LAYER_WINDOW)
// The first key that row `row` sees. Where the layer's window begins after the text's prefix, no key of the prefix is among them. Where bit
// 1 of WINDOWED is set, the first position has no keys.
uint first_key(uint row) {
  if (WINDOWED == 0u) return 0u;
  const uint least = min(WINDOWED >> 1u, row_position(row));
  if ((WINDOWED & 1u) == 0u || row_position(row) < push.window) return least;
  const uint keys = row_keys(row);
  const uint seen = KEYS == KEYS_WINDOW && keys <= row_position(row) ? min(push.window, state.window[1]) : push.window;
  return max(keys - min(keys, seen), least);
}
#endif

#if defined(SK_PAGES)
// Where K and V of a text position are.
uint slot_of(uint sequence, uint position) { return state.pages[push.tables + state.tables[sequence] + position / KV_PAGE] + position % KV_PAGE; }

// Where those of row `row` go.
uint row_slot(uint row) { return slot_of(state.sequences[row], row_base(row) + row_offset(row)); }

// Of the rows of its sequence the ancestor of row `row` at `depth`; at its own depth the row itself.
uint ancestor(uint row, uint depth) { return state.paths[row * STEP_PATH_WORDS + depth / 4u] >> (8u * (depth % 4u)) & 255u; }

// Where K and V of its key `key` are; keys are counted from 0 in the order of their positions. key < row_keys(row).
uint key_slot(uint row, uint key) {
  const uint sequence = state.sequences[row], base = state.bases[sequence];
  uint position = key;
  if (KEYS == KEYS_WINDOW && key >= state.window[0]) position = key + (row_position(row) + 1u - row_keys(row));
  if (KEYS == KEYS_TREE && key >= base) position = base + ancestor(row, key - base);
  return slot_of(sequence, position);
}
#endif
