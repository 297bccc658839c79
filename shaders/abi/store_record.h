#ifndef SKIPSTONE_ABI_STORE_RECORD_H
#define SKIPSTONE_ABI_STORE_RECORD_H
#include "kv_cache.h"
#define STORE_RECORD_BUFFERS 3
#define STORE_RECORD_IN 0
#define STORE_RECORD_RECORDS 1
#define STORE_RECORD_STATE 2
#define STORE_RECORD_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
// n: floats of a row; stride: from row to row; width: from record to record.
#define STORE_RECORD_PUSH(FIELD) FIELD(uint, n) FIELD(uint, stride) FIELD(uint, width) FIELD(uint, tables)
#endif
