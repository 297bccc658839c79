#ifndef SKIPSTONE_ABI_TOKEN_INPUTS_H
#define SKIPSTONE_ABI_TOKEN_INPUTS_H
#define TOKEN_INPUTS_BUFFERS 3
#define TOKEN_INPUTS_ROWS 0
#define TOKEN_INPUTS_PROJECTIONS 1
#define TOKEN_INPUTS_WEIGHT 2
#define TOKEN_INPUTS_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
// n: floats of a layer's part; stride: of a row of all layers, with its padding.
#define TOKEN_INPUTS_PUSH(FIELD) FIELD(uint, n) FIELD(uint, stride) FIELD(float, epsilon)
#endif
