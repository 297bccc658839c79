#ifndef SKIPSTONE_ABI_ARGMAX_LOGITS_H
#define SKIPSTONE_ABI_ARGMAX_LOGITS_H
#define ARGMAX_LOGITS_BUFFERS 2
#define ARGMAX_LOGITS_LOGITS 0
#define ARGMAX_LOGITS_PARTIAL 1   // ARGMAX_PARTIAL_FIELDS of argmax_merge.h, [row][workgroup]
#define ARGMAX_LOGITS_EACH 16     // logits that a lane takes: a partial covers LANES * ARGMAX_LOGITS_EACH
#define ARGMAX_LOGITS_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
// n: logits of a row; stride: floats from row to row.
#define ARGMAX_LOGITS_PUSH(FIELD) FIELD(uint, n) FIELD(uint, stride)
#endif
