#ifndef SKIPSTONE_ABI_ATTENTION_SERIAL_H
#define SKIPSTONE_ABI_ATTENTION_SERIAL_H
#include "kv_cache.h"
#define ATTENTION_SERIAL_BUFFERS 6
#define ATTENTION_SERIAL_Q 0
#define ATTENTION_SERIAL_K_CACHE 1
#define ATTENTION_SERIAL_V_CACHE 2
#define ATTENTION_SERIAL_STATE 3
#define ATTENTION_SERIAL_OUT 4
#define ATTENTION_SERIAL_SINKS 5
// HEADS: query heads of one KV head that a workgroup serves. KEYS, WINDOWED: see lib/keys.glsl. ROWS: rows that it serves. SOFTCAP: scores
// are kept below push.cap. SINKS: see attention_merge.h.
#define ATTENTION_SERIAL_SPEC(CONSTANT) CONSTANT(0, LANES, 32) CONSTANT(1, K_FORMAT, 1) CONSTANT(2, V_FORMAT, 1) CONSTANT(3, HEAD_DIM, 64) \
  CONSTANT(4, HEADS, 1) CONSTANT(5, KEYS, 0) CONSTANT(6, ROWS, 1) CONSTANT(7, WINDOWED, 0) CONSTANT(8, SOFTCAP, 0) CONSTANT(9, SINKS, 0)
// group: query heads per KV head. stride: floats per row of q and of the result.
#define ATTENTION_SERIAL_PUSH(FIELD) FIELD(uint, group) FIELD(uint, stride) FIELD(uint, slots) FIELD(float, scale) FIELD(float, cap) \
  FIELD(uint, window) FIELD(uint, tables)
#endif
