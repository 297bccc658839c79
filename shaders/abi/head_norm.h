#ifndef SKIPSTONE_ABI_HEAD_NORM_H
#define SKIPSTONE_ABI_HEAD_NORM_H
#define HEAD_NORM_BUFFERS 3
#define HEAD_NORM_QKV 0
#define HEAD_NORM_Q_WEIGHT 1
#define HEAD_NORM_K_WEIGHT 2
// VALUES: what becomes of V.
#define HEAD_NORM_SPEC(CONSTANT) CONSTANT(0, LANES, 32) CONSTANT(1, VALUES, 0)
#define HEAD_NORM_NO_VALUES 0u
#define HEAD_NORM_OWN_VALUES 1u       // its k_parts parts, after those of K, are normalised without a weight
#define HEAD_NORM_KEYS_AS_VALUES 2u   // it is K normalised without a weight
// q_parts: vectors of q_length that Q is made of, each at the begin of q_step floats; those of K, of k_length, follow them. stride: floats
// from row to row.
#define HEAD_NORM_PUSH(FIELD) \
  FIELD(uint, q_parts) FIELD(uint, q_step) FIELD(uint, q_length) FIELD(uint, k_length) FIELD(uint, stride) FIELD(float, epsilon) FIELD(uint, k_parts)
#endif
