#ifndef SKIPSTONE_ABI_GATED_NORM_H
#define SKIPSTONE_ABI_GATED_NORM_H
#define GATED_NORM_BUFFERS 3
#define GATED_NORM_ROWS 0
#define GATED_NORM_IN 1
#define GATED_NORM_WEIGHT 2
// GATE_FIRST: the rows are gated before they are normalised, and each part has a weight of its own; else all parts have the same one.
#define GATED_NORM_SPEC(CONSTANT) CONSTANT(0, LANES, 32) CONSTANT(1, GATE_FIRST, 0)
// count: floats of a part. stride, in_stride: floats from row to row. The gates are the first floats of a row of `inputs`.
#define GATED_NORM_PUSH(FIELD) FIELD(uint, count) FIELD(uint, stride) FIELD(uint, in_stride) FIELD(float, epsilon)
#endif
