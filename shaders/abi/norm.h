#ifndef SKIPSTONE_ABI_NORM_H
#define SKIPSTONE_ABI_NORM_H
#define NORM_BUFFERS 6
#define NORM_X 0
#define NORM_WEIGHT 1
#define NORM_OUT 2
#define NORM_STATE 3
#define NORM_BIAS 4
#define NORM_RESIDUAL 5
// Kinds: RMS; the mean is subtracted (layer norm), and a bias added.
#define NORM_RMS 0
#define NORM_BIASED 1
#define NORM_CENTRED 2   // without a bias
// ADD_RESIDUAL: a row of the residual is added to the result. SCALED: a number on the device multiplies it in the end.
#define NORM_SPEC(CONSTANT) CONSTANT(0, LANES, 32) CONSTANT(1, KIND, 0) CONSTANT(2, ADD_RESIDUAL, 0) CONSTANT(3, SCALED, 0)
// n, stride, last_row: as of rms_norm. scale: of the result, before the residual is added.
#define NORM_PUSH(FIELD) FIELD(uint, n) FIELD(uint, stride) FIELD(float, epsilon) FIELD(uint, last_row) FIELD(float, scale)
#endif
