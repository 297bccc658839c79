#ifndef SKIPSTONE_ABI_KEEP_ROWS_H
#define SKIPSTONE_ABI_KEEP_ROWS_H
#define KEEP_ROWS_BUFFERS 3
#define KEEP_ROWS_IN 0
#define KEEP_ROWS_OUT 1
#define KEEP_ROWS_STATE 2
#define KEEP_ROWS_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
// stride: floats per row, padding included.
#define KEEP_ROWS_PUSH(FIELD) FIELD(uint, stride)
#endif
