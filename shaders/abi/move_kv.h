#ifndef SKIPSTONE_ABI_MOVE_KV_H
#define SKIPSTONE_ABI_MOVE_KV_H
#define MOVE_KV_BUFFERS 3
#define MOVE_KV_K_CACHE 0
#define MOVE_KV_V_CACHE 1
#define MOVE_KV_STATE 2
#define MOVE_KV_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
// Of K and of V: head_words: from one KV head's words to the next one's. first: where the plane of words that is moved begins in them.
// words: of a position, 0 where there is no such plane.
#define MOVE_KV_PUSH(FIELD) FIELD(uint, k_head_words) FIELD(uint, v_head_words) FIELD(uint, k_first) FIELD(uint, v_first) \
  FIELD(uint, k_words) FIELD(uint, v_words) FIELD(uint, tables)
#endif
