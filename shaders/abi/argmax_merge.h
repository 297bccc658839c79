#ifndef SKIPSTONE_ABI_ARGMAX_MERGE_H
#define SKIPSTONE_ABI_ARGMAX_MERGE_H
#define ARGMAX_MERGE_BUFFERS 2
#define ARGMAX_MERGE_PARTIAL 0
#define ARGMAX_MERGE_RESULT 1
#define ARGMAX_MERGE_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
#define ARGMAX_MERGE_PUSH(FIELD) FIELD(uint, blocks)
// The LM head's partial result of a range of rows: index of the largest logit, that logit, the runner-up's, sum of exp(logit - largest).
#define ARGMAX_PARTIAL_FIELDS(FIELD) FIELD(uint, index) FIELD(float, largest) FIELD(float, second) FIELD(float, sum)
#endif
