#ifndef SKIPSTONE_ABI_SHORT_CONV_H
#define SKIPSTONE_ABI_SHORT_CONV_H
#include "kv_cache.h"
#define SHORT_CONV_BUFFERS 5
#define SHORT_CONV_IN 0
#define SHORT_CONV_TAPS 1
#define SHORT_CONV_STATE 2
#define SHORT_CONV_OUT 3
#define SHORT_CONV_RECORDS 4
// KERNEL: positions that a row sees, its own included. KEYS: see lib/keys.glsl. ROUNDS: channels of a lane, LANES apart.
#define SHORT_CONV_SPEC(CONSTANT) CONSTANT(0, LANES, 32) CONSTANT(1, KERNEL, 3) CONSTANT(2, KEYS, 0) CONSTANT(3, ROUNDS, 1)
// in_stride, out_stride: floats from row to row.
#define SHORT_CONV_PUSH(FIELD) FIELD(uint, channels) FIELD(uint, in_stride) FIELD(uint, out_stride) FIELD(uint, tables)
#endif
