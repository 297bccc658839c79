// K and V caches are [kv_head][context][head_dim]. KV_F16: two halves per 32-bit word; else a float per word.
#include "lib/half.glsl"
