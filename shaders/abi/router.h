#ifndef SKIPSTONE_ABI_ROUTER_H
#define SKIPSTONE_ABI_ROUTER_H
#define ROUTER_BUFFERS 4
#define ROUTER_LOGITS 0
#define ROUTER_CORRECTION 1
#define ROUTER_STATE 2
#define ROUTER_CHOICES 3
// GATING: how logits become weights; RENORMALISED: the chosen ones' are divided by their sum. CORRECTED: the bias is added for the choice.
#define ROUTER_SPEC(CONSTANT) \
  CONSTANT(0, LANES, 32) CONSTANT(1, GATING, 0) CONSTANT(2, RENORMALISED, 0) CONSTANT(3, CORRECTED, 0) CONSTANT(4, GROUPS, 1)
#define ROUTER_SOFTMAX 0u
#define ROUTER_SIGMOID 1u
#define ROUTER_SOFTMAX_OF_CHOSEN 2u
// stride: floats of a row of logits. groups_used: of GROUPS. scale: of the weights.
#define ROUTER_PUSH(FIELD) FIELD(uint, experts) FIELD(uint, used) FIELD(uint, stride) FIELD(uint, groups_used) FIELD(float, scale)
#endif
