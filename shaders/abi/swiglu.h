#ifndef SKIPSTONE_ABI_SWIGLU_H
#define SKIPSTONE_ABI_SWIGLU_H
#define SWIGLU_BUFFERS 2
#define SWIGLU_GATE_UP 0
#define SWIGLU_OUT 1
// ACTIVATION: the function of the gate, or of the full row if there is no gate.
#define SWIGLU_SPEC(CONSTANT) CONSTANT(0, LANES, 32) CONSTANT(1, ACTIVATION, 0)
#define SWIGLU_SILU_GATE 0
#define SWIGLU_GELU_GATE 1
#define SWIGLU_GELU 2
#define SWIGLU_SQUARED_RELU 3
#define SWIGLU_CLAMPED_GATE 4   // both halves clamped, as gpt-oss has them
#define SWIGLU_PUSH(FIELD) FIELD(uint, n) FIELD(uint, in_stride) FIELD(uint, out_stride)
#endif
