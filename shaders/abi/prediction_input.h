#ifndef SKIPSTONE_ABI_PREDICTION_INPUT_H
#define SKIPSTONE_ABI_PREDICTION_INPUT_H
#include "kv_cache.h"
#define PREDICTION_INPUT_BUFFERS 6
#define PREDICTION_INPUT_EMBEDDINGS 0
#define PREDICTION_INPUT_RECORDS 1
#define PREDICTION_INPUT_EMBEDDING_NORM 2
#define PREDICTION_INPUT_HIDDEN_NORM 3
#define PREDICTION_INPUT_OUT 4
#define PREDICTION_INPUT_STATE 5
// KEYS: see lib/keys.glsl.
#define PREDICTION_INPUT_SPEC(CONSTANT) CONSTANT(0, LANES, 32) CONSTANT(1, KEYS, 0)
// n: floats of an embedding and of a hidden state. in_stride, out_stride: floats from row to row; width: from record to record.
#define PREDICTION_INPUT_PUSH(FIELD) \
  FIELD(uint, n) FIELD(uint, in_stride) FIELD(uint, out_stride) FIELD(uint, width) FIELD(float, epsilon) FIELD(uint, tables)
#endif
