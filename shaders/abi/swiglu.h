#ifndef SKIPSTONE_ABI_SWIGLU_H
#define SKIPSTONE_ABI_SWIGLU_H
#define SWIGLU_BUFFERS 2
#define SWIGLU_GATE_UP 0
#define SWIGLU_OUT 1
#define SWIGLU_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
#define SWIGLU_PUSH(FIELD) FIELD(uint, n) FIELD(uint, in_stride) FIELD(uint, out_stride)
#endif
