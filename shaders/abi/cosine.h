#ifndef SKIPSTONE_ABI_COSINE_H
#define SKIPSTONE_ABI_COSINE_H
#define COSINE_BUFFERS 3
#define COSINE_BEFORE 0
#define COSINE_AFTER 1
#define COSINE_OUT 2
#define COSINE_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
// sublayer: which one's slots of `out` ([sublayer][STEP_MAX_ROWS]) are written. Attention of layer l is l, its MLP layers + l.
#define COSINE_PUSH(FIELD) FIELD(uint, n) FIELD(uint, stride) FIELD(uint, sublayer)
#endif
