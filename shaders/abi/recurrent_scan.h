#ifndef SKIPSTONE_ABI_RECURRENT_SCAN_H
#define SKIPSTONE_ABI_RECURRENT_SCAN_H
#include "kv_cache.h"
#define RECURRENT_SCAN_BUFFERS 10
#define RECURRENT_SCAN_IN 0
#define RECURRENT_SCAN_STATE 1
#define RECURRENT_SCAN_RECORDS 2
#define RECURRENT_SCAN_STATES 3
#define RECURRENT_SCAN_TAPS 4
#define RECURRENT_SCAN_TAPS_BIAS 5
#define RECURRENT_SCAN_DT_BIAS 6
#define RECURRENT_SCAN_DECAY_RATE 7
#define RECURRENT_SCAN_SKIP 8
#define RECURRENT_SCAN_OUT 9
// RULE: SCAN_DELTA or SCAN_MAMBA. KEY_DIM, VALUE_DIM: rows and columns of a head's state. COLUMNS: those of a workgroup. KERNEL: taps of
// the convolution. KEYS: see lib/keys.glsl. EXTENT: what is done, SCAN_*.
#define RECURRENT_SCAN_SPEC(CONSTANT)                                                                               \
  CONSTANT(0, LANES, 32) CONSTANT(1, RULE, 0) CONSTANT(2, KEY_DIM, 128) CONSTANT(3, VALUE_DIM, 128)                 \
  CONSTANT(4, COLUMNS, 32) CONSTANT(5, KERNEL, 4) CONSTANT(6, KEYS, 0) CONSTANT(7, EXTENT, 0)
#define SCAN_DELTA 0u
#define SCAN_MAMBA 1u
#define SCAN_ROWS 0u      // replay up to the pass, whose first row the state is written before; and the rows of the pass
#define SCAN_PROMPT 1u    // the same, but the state is written after the last row
#define SCAN_ADVANCE 2u   // no rows: the pass begins after the layer
#define SCAN_DRAFT 3u     // as SCAN_ROWS, but no state is written
#define SCAN_STORE 4u     // as SCAN_ADVANCE, and the records of rows are stored; where no state is written, nothing else is done
// heads, key_heads: of values and keys; key_group: value heads of a key head where they are neighbours, 0 where value head h has key head
// h % key_heads. in_stride, out_stride: floats from row to row. record_first: where a row's record begins in it; record: its floats.
// q, k, v: where these begin in a record; rates: where the numbers of the heads do: of SCAN_DELTA beta and alpha, of SCAN_MAMBA dt.
// slot: floats of a slot of `states`. tables, scans: where the page tables, and the triples below, begin.
#define RECURRENT_SCAN_PUSH(FIELD)                                                                                  \
  FIELD(uint, heads) FIELD(uint, key_heads) FIELD(uint, key_group) FIELD(uint, in_stride) FIELD(uint, out_stride)   \
  FIELD(uint, record_first) FIELD(uint, record) FIELD(uint, q) FIELD(uint, k) FIELD(uint, v) FIELD(uint, rates)     \
  FIELD(uint, slot) FIELD(uint, tables) FIELD(uint, scans)
// Of each sequence, in the order of these: the slot that a pass reads the state from, the position that it is of (all of the text before
// it), and the slot that it is written to. SCAN_NONE: no slot; a state of zeros.
#define SCAN_SOURCE 0
#define SCAN_POSITION 1
#define SCAN_TARGET 2
#define SCAN_WORDS 3
#define SCAN_NONE 0xffffffffu
#endif
