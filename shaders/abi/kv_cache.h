#ifndef SKIPSTONE_ABI_KV_CACHE_H
#define SKIPSTONE_ABI_KV_CACHE_H
// How K and V are stored (docs/numerics.md): the values of the constants K_FORMAT and V_FORMAT, and of skipstone::KvFormat.
#define KV_FORMAT_F32 0
#define KV_FORMAT_F16 1
#define KV_FORMAT_Q8_0 2
#define KV_FORMAT_Q4_0 3
#define KV_FORMAT_Q5_1 4
// Dimensions that share a scale from KV_FORMAT_Q8_0 on.
#define KV_BLOCK 32
// Positions of a text that lie side by side in the cache (a page); a multiple of every subgroup's size and a divisor of every chunk.
#define KV_PAGE 64
#endif
