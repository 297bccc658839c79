#ifndef SKIPSTONE_ABI_HEAD_NORM_H
#define SKIPSTONE_ABI_HEAD_NORM_H
#define HEAD_NORM_BUFFERS 3
#define HEAD_NORM_QKV 0
#define HEAD_NORM_Q_WEIGHT 1
#define HEAD_NORM_K_WEIGHT 2
#define HEAD_NORM_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
// heads: of Q; those of K stand behind them. stride: floats from row to row.
#define HEAD_NORM_PUSH(FIELD) FIELD(uint, heads) FIELD(uint, head_dim) FIELD(uint, stride) FIELD(float, epsilon)
#endif
