#ifndef SKIPSTONE_ABI_ADVANCE_H
#define SKIPSTONE_ABI_ADVANCE_H
#define ADVANCE_BUFFERS 5
#define ADVANCE_RESULT 0
#define ADVANCE_STATE 1
#define ADVANCE_ROUND 2
#define ADVANCE_ROUND_RESULT 3
#define ADVANCE_DRAFTS 4
#define ADVANCE_SPEC(CONSTANT) CONSTANT(0, LANES, 1)
// chunk: keys of an attention chunk. draft: the pass was a draft (else the one over the row that no draft has read).
// keeps: drafts leave saved hidden states, so that the last draft's row has a pass of its own before the verification.
#define ADVANCE_PUSH(FIELD)  \
  FIELD(uint, chunk)         \
  FIELD(uint, draft)         \
  FIELD(uint, keeps)
#endif
