#ifndef SKIPSTONE_ABI_COMBINE_EXPERTS_H
#define SKIPSTONE_ABI_COMBINE_EXPERTS_H
#define COMBINE_EXPERTS_BUFFERS 6
#define COMBINE_EXPERTS_OUTPUTS 0
#define COMBINE_EXPERTS_CHOICES 1
#define COMBINE_EXPERTS_SHARED 2
#define COMBINE_EXPERTS_LOGITS 3
#define COMBINE_EXPERTS_RESIDUAL 4
#define COMBINE_EXPERTS_OUT 5
// SHARED: the rows of the shared expert are added, times the sigmoid of their logit or not.
#define COMBINE_EXPERTS_SPEC(CONSTANT) CONSTANT(0, LANES, 32) CONSTANT(1, SHARED, 0) CONSTANT(2, ADD_RESIDUAL, 0)
#define COMBINE_NO_SHARED 0u
#define COMBINE_SHARED 1u
#define COMBINE_GATED_SHARED 2u
// n: floats of a row; stride: with its padding. used: experts of a row. logit, logit_stride: of the shared expert's gate in a row of
// logits. scale: of the sum, before the residual is added.
#define COMBINE_EXPERTS_PUSH(FIELD) \
  FIELD(uint, n) FIELD(uint, stride) FIELD(uint, used) FIELD(uint, logit) FIELD(uint, logit_stride) FIELD(float, scale)
#endif
