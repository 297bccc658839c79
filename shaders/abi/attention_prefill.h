#ifndef SKIPSTONE_ABI_ATTENTION_PREFILL_H
#define SKIPSTONE_ABI_ATTENTION_PREFILL_H
#include "kv_cache.h"
#define ATTENTION_PREFILL_BUFFERS 6
#define ATTENTION_PREFILL_Q 0
#define ATTENTION_PREFILL_K_CACHE 1
#define ATTENTION_PREFILL_V_CACHE 2
#define ATTENTION_PREFILL_STATE 3
#define ATTENTION_PREFILL_OUT 4
#define ATTENTION_PREFILL_SINKS 5
// SPLIT: lanes beside each other that share a query, each with as many quads of its head. It divides LANES and the quads. SINKS: see
// attention_merge.h.
#define ATTENTION_PREFILL_SPEC(CONSTANT) CONSTANT(0, LANES, 32) CONSTANT(1, K_FORMAT, 1) CONSTANT(2, V_FORMAT, 1) CONSTANT(3, HEAD_DIM, 64) \
  CONSTANT(4, SPLIT, 1) CONSTANT(5, WINDOWED, 0) CONSTANT(6, SOFTCAP, 0) CONSTANT(7, SINKS, 0)
#define ATTENTION_PREFILL_PUSH(FIELD) FIELD(uint, group) FIELD(uint, stride) FIELD(uint, slots) FIELD(float, scale) FIELD(float, cap) \
  FIELD(uint, window) FIELD(uint, tables)
#endif
