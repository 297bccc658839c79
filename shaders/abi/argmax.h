#ifndef SKIPSTONE_ABI_ARGMAX_H
#define SKIPSTONE_ABI_ARGMAX_H
#define ARGMAX_BUFFERS 2
#define ARGMAX_LOGITS 0
#define ARGMAX_PARTIAL 1
#define ARGMAX_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
#define ARGMAX_BLOCK 2048   // logits per workgroup, at fixed places
#define ARGMAX_PUSH(FIELD) FIELD(uint, n) FIELD(uint, stride) FIELD(uint, blocks)
// A partial: index of the largest, its logit, the runner-up's logit, sum of exp(logit - largest).
#define ARGMAX_PARTIAL_FIELDS(FIELD) FIELD(uint, index) FIELD(float, largest) FIELD(float, second) FIELD(float, sum)
#endif
