// Where a Q8_0 cache has its parts. A KV head's words: quants [slots][head_dim / 4], four to a word, then scales [slots][scale words],
// those of two blocks (halves) to a word, padded to 16 bytes. So quants and scales are whole 16-byte words, and one row of a pass never
// writes to another's words. The host's view: AttentionShape::kv_head_bytes.
#include "abi/kv_cache.h"

uint kv_scale_words(uint head_dim) { return (head_dim + 2u * KV_BLOCK - 1u) / (2u * KV_BLOCK); }
uint kv_head_words(uint slots, uint head_dim) { return slots * (head_dim / 4u) + (slots * kv_scale_words(head_dim) + 3u) / 4u * 4u; }
