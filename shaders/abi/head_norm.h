#ifndef SKIPSTONE_ABI_HEAD_NORM_H
#define SKIPSTONE_ABI_HEAD_NORM_H
#define HEAD_NORM_BUFFERS 3
#define HEAD_NORM_QKV 0
#define HEAD_NORM_Q_WEIGHT 1
#define HEAD_NORM_K_WEIGHT 2
#define HEAD_NORM_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
// q_parts: vectors of q_length that Q is made of, each at the begin of q_step floats; those of K, of k_length, follow them. stride: floats
// from row to row.
#define HEAD_NORM_PUSH(FIELD) \
  FIELD(uint, q_parts) FIELD(uint, q_step) FIELD(uint, q_length) FIELD(uint, k_length) FIELD(uint, stride) FIELD(float, epsilon)
#endif
