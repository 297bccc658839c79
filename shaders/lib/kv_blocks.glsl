// Where a cache in blocks has its parts. A KV head's words: codes [slots][code words], then scales [slots][scale words], padded to 16
// bytes. Codes are bytes (Q8_0) or nibbles, the lowest dimension first. Scales are halves, those of two blocks to a word; a block of Q5_1
// has two words, scale and minimum in the first, the fifth bits of its codes in the second. So codes and scales are whole 16-byte words,
// and one row of a pass never writes to another's words. The host's view: kernels::KvLayout.
// KV_BLOCKS says which formats a kernel's variant knows, since drivers take time for all of them: 0: F32 and F16; 1: Q8_0 too; 2: all.
#include "abi/kv_cache.h"
#if !defined(KV_BLOCKS)
#define KV_BLOCKS 0
#endif

bool kv_has_blocks(uint format) { return format >= KV_FORMAT_Q8_0; }
uint kv_code_words(uint format, uint head_dim) { return format == KV_FORMAT_Q8_0 ? head_dim / 4u : head_dim / 8u; }
uint kv_scale_words(uint format, uint head_dim) {
  return format == KV_FORMAT_Q5_1 ? head_dim / KV_BLOCK * 2u : (head_dim + 2u * KV_BLOCK - 1u) / (2u * KV_BLOCK);
}
uint kv_head_words(uint format, uint slots, uint head_dim) {
  return slots * kv_code_words(format, head_dim) + (slots * kv_scale_words(format, head_dim) + 3u) / 4u * 4u;
}
