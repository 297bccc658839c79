#ifndef SKIPSTONE_ABI_HEAD_GATE_H
#define SKIPSTONE_ABI_HEAD_GATE_H
#define HEAD_GATE_BUFFERS 2
#define HEAD_GATE_QKV 0
#define HEAD_GATE_ATTENDED 1
#define HEAD_GATE_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
// width: floats of a row of all heads. in_stride, stride: floats from row to row of qkv, of attended.
#define HEAD_GATE_PUSH(FIELD) FIELD(uint, width) FIELD(uint, head_dim) FIELD(uint, in_stride) FIELD(uint, stride)
#endif
