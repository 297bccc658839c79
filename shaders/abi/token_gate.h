#ifndef SKIPSTONE_ABI_TOKEN_GATE_H
#define SKIPSTONE_ABI_TOKEN_GATE_H
#define TOKEN_GATE_BUFFERS 2
#define TOKEN_GATE_ROWS 0
#define TOKEN_GATE_INPUTS 1
#define TOKEN_GATE_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
// n: floats of a row; stride: with its padding. first: where the layer's inputs begin in a row of them, of in_stride floats.
#define TOKEN_GATE_PUSH(FIELD) FIELD(uint, n) FIELD(uint, stride) FIELD(uint, first) FIELD(uint, in_stride)
#endif
