#version 450
#extension GL_GOOGLE_include_directive : require
// First half of argmax: partial[row][block] over ARGMAX_BLOCK logits: index and value of the largest, the runner-up's value, and the sum of
// exp(logit - largest). Workgroup (block, row). Blocks stand at fixed places and lanes are joined in order.
#include "lib/stage.glsl"
#include "abi/argmax.h"

ARGMAX_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { ARGMAX_PUSH(SK_FIELD) } push;

struct Partial { ARGMAX_PARTIAL_FIELDS(SK_FIELD) };
layout(std430, set = 0, binding = ARGMAX_LOGITS) readonly buffer Logits { float logits[]; };
layout(std430, set = 0, binding = ARGMAX_PARTIAL) writeonly buffer Partials { Partial partials[]; };
#include "lib/argmax.glsl"
#include "lib/reduce.glsl"

shared uint slot_index[LANES];
shared float slot_largest[LANES];
shared float slot_second[LANES];

void main() {
  const uint lane = gl_LocalInvocationID.x;
  const uint from = gl_WorkGroupID.x * ARGMAX_BLOCK, to = min(from + ARGMAX_BLOCK, push.n);
  const uint base = gl_WorkGroupID.y * push.stride;

  Best mine = Best(NO_INDEX, LOWEST, LOWEST);
  for (uint i = from + lane; i < to; i += LANES) offer(mine, i, logits[base + i]);
  slot_index[lane] = mine.index;
  slot_largest[lane] = mine.largest;
  slot_second[lane] = mine.second;
  barrier();
  Best best = Best(NO_INDEX, LOWEST, LOWEST);
  for (uint i = 0; i < LANES; ++i) join(best, Best(slot_index[i], slot_largest[i], slot_second[i]));

  precise float sum = 0.0;
  for (uint i = from + lane; i < to; i += LANES) {
    const float logit = logits[base + i];
    if (logit > LOWEST) sum += exp(logit - best.largest);
  }
  sum = workgroup_sum(sum);
  if (lane == 0u) partials[gl_WorkGroupID.y * push.blocks + gl_WorkGroupID.x] = Partial(best.index, best.largest, best.second, sum);
}
