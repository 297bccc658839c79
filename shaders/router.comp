#version 450
#extension GL_GOOGLE_include_directive : require
// The experts of each row and their weights, from the logits of a router: choices of abi/experts.h. Of equal scores the lower index is
// chosen, and NaN last. Workgroup = row, so that the choice of a row depends on its logits alone. Padding rows have no experts.
#include "lib/stage.glsl"
#include "abi/router.h"
#include "abi/experts.h"

ROUTER_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { ROUTER_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = ROUTER_LOGITS) readonly buffer Logits { float logits[]; };
layout(std430, set = 0, binding = ROUTER_CORRECTION) readonly buffer Correction { float correction[]; };
layout(std430, set = 0, binding = ROUTER_CHOICES) writeonly buffer Choices { uvec2 choices[]; };
#define STEP_STATE_BINDING ROUTER_STATE
#include "lib/step_state.glsl"
#include "lib/argmax.glsl"
#include "lib/reduce.glsl"

#define TAKEN uintBitsToFloat(0x7fc00000u)   // NaN, which no choice takes

shared float scores[EXPERTS_MOST];
shared float group_scores[GROUPS];
shared Best lane_best[LANES];
shared uint chosen[EXPERTS_MOST_USED];

bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

// Of an expert with this logit, before weights are divided. NaN stays: exp() of some drivers makes a number of it.
float weight_of(float logit, float most) {
  precise float x = GATING == ROUTER_SIGMOID ? -logit : logit - most;
  precise float power = exp(x);
  precise float result = GATING == ROUTER_SIGMOID ? 1.0 / (1.0 + power) : power;
  return is_nan(logit) ? logit : result;
}

// The sum of a group's two best scores.
float score_of_group(uint group) {
  const uint size = push.experts / GROUPS;
  Best best = Best(NO_INDEX, LOWEST, LOWEST);
  for (uint e = group * size; e < (group + 1u) * size; ++e) offer(best, e, scores[e]);
  precise float sum = best.largest + best.second;
  return is_nan(sum) ? LOWEST : sum;
}

// Leaves the scores of the best groups alone.
void keep_groups() {
  for (uint g = gl_LocalInvocationID.x; g < GROUPS; g += LANES) group_scores[g] = score_of_group(g);
  barrier();
  const uint size = push.experts / GROUPS;
  for (uint e = gl_LocalInvocationID.x; e < push.experts; e += LANES) {
    uint better = 0u;
    const float own = group_scores[e / size];
    for (uint g = 0u; g < GROUPS; ++g) {
      if (group_scores[g] > own || (group_scores[g] == own && g < e / size)) ++better;
    }
    if (better >= push.groups_used) scores[e] = LOWEST;
  }
  barrier();
}

// The best expert that is not taken yet.
uint take_best() {
  const uint lane = gl_LocalInvocationID.x;
  Best best = Best(NO_INDEX, LOWEST, LOWEST);
  for (uint e = lane; e < push.experts; e += LANES) offer(best, e, scores[e]);
  lane_best[lane] = best;
  barrier();
  best = Best(NO_INDEX, LOWEST, LOWEST);
  for (uint i = 0u; i < LANES; ++i) join(best, lane_best[i]);
  barrier();
  if (best.index % LANES == lane) scores[best.index] = TAKEN;
  return best.index;
}

void main() {
  const uint lane = gl_LocalInvocationID.x, row = gl_WorkGroupID.x, first = row * push.stride;
  if (row >= state.rows) {
    for (uint i = lane; i < push.used; i += LANES) choices[row * push.used + i] = uvec2(EXPERTS_NONE, 0u);
    return;
  }
  float most = LOWEST;
  for (uint e = lane; e < push.experts; e += LANES) {
    const float logit = logits[first + e];
    precise float score = GATING == ROUTER_SIGMOID ? weight_of(logit, 0.0) : logit;   // a softmax keeps the order
    if (CORRECTED != 0u) score += correction[e];
    scores[e] = is_nan(score) ? LOWEST : score;
    if (logit > most) most = logit;   // max() may return NaN
  }
  reduce_slots[lane] = most;
  barrier();
  for (uint i = 0u; i < LANES; ++i) {
    if (reduce_slots[i] > most) most = reduce_slots[i];
  }
  if (GROUPS > 1u) keep_groups();
  for (uint i = 0u; i < push.used; ++i) {
    const uint best = take_best();
    if (lane == 0u) chosen[i] = best;
  }
  precise float all = 1.0;
  if (GATING == ROUTER_SOFTMAX && RENORMALISED == 0u) {
    precise float own = 0.0;
    for (uint e = lane; e < push.experts; e += LANES) own += weight_of(logits[first + e], most);
    all = workgroup_sum(own);
  }
  barrier();
  if (lane != 0u) return;
  precise float sum = 0.0;
  for (uint i = 0u; i < push.used; ++i) sum += weight_of(logits[first + chosen[i]], most);
  if (RENORMALISED != 0u || GATING == ROUTER_SOFTMAX_OF_CHOSEN) all = sum < 1e-20 ? 1e-20 : sum;   // max() may return a number for NaN
  for (uint i = 0u; i < push.used; ++i) {
    precise float weight = weight_of(logits[first + chosen[i]], most) / all * push.scale;
    choices[row * push.used + i] = uvec2(chosen[i], floatBitsToUint(weight));
  }
}
