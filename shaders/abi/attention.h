#ifndef SKIPSTONE_ABI_ATTENTION_H
#define SKIPSTONE_ABI_ATTENTION_H
#include "kv_cache.h"
#define ATTENTION_BUFFERS 5
#define ATTENTION_Q 0
#define ATTENTION_K_CACHE 1
#define ATTENTION_V_CACHE 2
#define ATTENTION_STATE 3
#define ATTENTION_PARTIAL 4
// CHUNK: keys per workgroup, at fixed positions. HEADS: query heads of one KV head that a workgroup serves.
// KEYS, WINDOWED: see lib/keys.glsl. SOFTCAP: scores are kept below push.cap.
#define ATTENTION_SPEC(CONSTANT)                                                                                            \
  CONSTANT(0, LANES, 32) CONSTANT(1, K_FORMAT, 1) CONSTANT(2, V_FORMAT, 1) CONSTANT(3, HEAD_DIM, 64) CONSTANT(4, HEADS, 1) CONSTANT(5, CHUNK, 64) \
  CONSTANT(6, KEYS, 0) CONSTANT(7, WINDOWED, 0) CONSTANT(8, SOFTCAP, 0)
// group: query heads per KV head. max_chunks: chunks of the full context (the partial buffer's stride). q_stride: floats per row. window:
// keys that a row sees, where WINDOWED. tables: where the page tables of such layers begin (for all push constants of this name).
#define ATTENTION_PUSH(FIELD)                                                                                        \
  FIELD(uint, heads) FIELD(uint, group) FIELD(uint, q_stride) FIELD(uint, slots) FIELD(uint, max_chunks) FIELD(float, scale) FIELD(float, cap) \
  FIELD(uint, window) FIELD(uint, tables)
// A partial result: HEAD_DIM weighted sums of V, then the maximum and the sum of exponentials.
#define ATTENTION_PARTIAL_EXTRA 4
// Parts in which a head's largest score is searched.
#define ATTENTION_SHARES 8
#endif
