// A round whose drafts and verification are one submission: the data that the device needs to go from one pass to the next, and the data
// that it returns to the host at the end. Included by C++ and GLSL; macros only. After step_state.h.
#ifndef SKIPSTONE_ABI_ROUND_H
#define SKIPSTONE_ABI_ROUND_H

#define ROUND_CONDITIONS 8   // words that passes of a round depend on
#define ROUND_DRAFTING 0     // condition of the draft passes; condition 1 + b: the verification of 2^b rows

// Written by the host before a round, by `advance` within it. base: text position of the pending token. most: drafts that there may be.
// least_probability: a draft below it is the last. drafted: drafts so far. attention_groups: by condition, the second
// group count of the pass's indirect attention. tokens: the pending one, then the drafts.
#define ROUND_STATE(FIELD, ARRAY)                \
  FIELD(uint, base)                              \
  FIELD(uint, most)                              \
  FIELD(float, least_probability)                \
  FIELD(uint, drafted)                           \
  ARRAY(uint, conditions, ROUND_CONDITIONS)      \
  ARRAY(uint, attention_groups, ROUND_CONDITIONS) \
  ARRAY(uint, tokens, STEP_VERIFY_ROWS)

// Read by the host after a round. accepted: leading drafts that equal the verification's choices. A RowResult per draft follows it.
#define ROUND_RESULT(FIELD, ARRAY)  \
  FIELD(uint, drafted)              \
  FIELD(uint, accepted)             \
  ARRAY(uint, reserved, 2)

#endif
