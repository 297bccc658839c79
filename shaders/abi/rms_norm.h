#ifndef SKIPSTONE_ABI_RMS_NORM_H
#define SKIPSTONE_ABI_RMS_NORM_H
#define RMS_NORM_BUFFERS 4
#define RMS_NORM_X 0
#define RMS_NORM_WEIGHT 1
#define RMS_NORM_OUT 2
#define RMS_NORM_STATE 3
#define RMS_NORM_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
// n: real length of a row; stride: floats from row to row, in and out. last_row: 1 = normalise only the last real row, into row 0.
#define RMS_NORM_PUSH(FIELD) FIELD(uint, n) FIELD(uint, stride) FIELD(float, epsilon) FIELD(uint, last_row)
#endif
