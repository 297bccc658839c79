// Where the taps of a causal convolution over KERNEL positions find the records of a row's path; include lib/records.glsl first.

// By a position's distance from the row's: bit `back` of own_rows says whether it is a row of this pass, and places[back] is where its
// record is, in the pass's inputs or in the cache.
uint own_rows;
uint places[KERNEL];

// Finds those from `nearest` on, and returns the distance of the farthest: positions before the text's first one have no record. In the
// inputs the record of row i is at `first` + i * `stride`, in the cache that of slot i at i * `width`.
uint find_taps(uint row, uint position, uint nearest, uint first, uint stride, uint width) {
  const uint farthest = min(KERNEL - 1u, position);
  own_rows = 0u;
  for (uint back = nearest; back <= farthest; ++back) {
    uint at;
    if (find_record(row, position - back, at)) {
      own_rows |= 1u << back;
      places[back] = first + at * stride;
    } else {
      places[back] = at * width;
    }
  }
  return farthest;
}
