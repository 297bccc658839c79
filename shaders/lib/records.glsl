// Where recurrent layers find what earlier rows gave them (a record: floats of one text position, in pages as keys are); include
// lib/keys.glsl with SK_PAGES first. A pass stores the records of its rows and reads, from the cache, those of positions before it alone:
// those of its own rows are read where the projections left them, so that storing and reading need no barrier between them.

// The place of the record at text position `position` on the path of row `row`, which is not after it. True: a row of this pass, in
// `at`. False: a slot of the cache.
bool find_record(uint row, uint position, out uint at) {
  const uint sequence = state.sequences[row], base = state.bases[sequence];
  if (position < base) {
    at = slot_of(sequence, position);
    return false;
  }
  const uint offset = KEYS == KEYS_TREE ? ancestor(row, position - base) : position - base;
  // Rows that an earlier pass over the same tree computed are before the first row: rows of other sequences, or below 0.
  const uint own = state.first_rows[sequence] + offset;
  at = own;
  if (own <= row && state.sequences[min(own, row)] == sequence) return true;
  at = slot_of(sequence, base + offset);
  return false;
}
