#ifndef SKIPSTONE_ABI_ROPE_STORE_H
#define SKIPSTONE_ABI_ROPE_STORE_H
#include "kv_cache.h"
#define ROPE_STORE_BUFFERS 6
#define ROPE_STORE_QKV 0
#define ROPE_STORE_TABLE 1
#define ROPE_STORE_STATE 2
#define ROPE_STORE_Q_OUT 3
#define ROPE_STORE_K_CACHE 4
#define ROPE_STORE_V_CACHE 5
// K_FORMAT, V_FORMAT: see kv_cache.h. NEOX: RoPE pairs (i, i + rope_dim/2) as GPT-NeoX does, else (2i, 2i+1). KEYS: see lib/keys.glsl.
// ROUNDS: invocations of the description in rope_store.comp that a lane executes, LANES apart.
#define ROPE_STORE_SPEC(CONSTANT) CONSTANT(0, LANES, 32) CONSTANT(1, K_FORMAT, 1) CONSTANT(2, V_FORMAT, 1) CONSTANT(3, NEOX, 0) CONSTANT(4, KEYS, 0) \
  CONSTANT(5, ROUNDS, 1)
// q_step: floats from a head of Q to the next one in qkv. k_row, q_row: the row of the table that position 0 of K, of Q rotates by.
#define ROPE_STORE_PUSH(FIELD)                                                                                               \
  FIELD(uint, heads) FIELD(uint, kv_heads) FIELD(uint, head_dim) FIELD(uint, rope_dim) FIELD(uint, in_stride) FIELD(uint, q_stride) \
  FIELD(uint, slots) FIELD(uint, k_row) FIELD(uint, q_row) FIELD(uint, tables) FIELD(uint, q_step)
#endif
