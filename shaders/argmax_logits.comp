#version 450
#extension GL_GOOGLE_include_directive : require
// The LM head's partial results (lib/matvec.glsl) of ranges of logits that its product wrote: workgroup (range, row). argmax_merge.comp
// joins the ranges. Lanes take every LANES-th logit of the range; their sums are added in lane order.
#include "lib/stage.glsl"
#include "abi/argmax_logits.h"
#include "abi/argmax_merge.h"

ARGMAX_LOGITS_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { ARGMAX_LOGITS_PUSH(SK_FIELD) } push;

struct Partial { ARGMAX_PARTIAL_FIELDS(SK_FIELD) };
layout(std430, set = 0, binding = ARGMAX_LOGITS_LOGITS) readonly buffer Logits { float logits[]; };
layout(std430, set = 0, binding = ARGMAX_LOGITS_PARTIAL) writeonly buffer Partials { Partial partials[]; };
#include "lib/argmax.glsl"
#include "lib/reduce.glsl"
#include "lib/workgroup_best.glsl"

void main() {
  const uint row = gl_WorkGroupID.y, lane = gl_LocalInvocationID.x;
  const uint first = gl_WorkGroupID.x * LANES * ARGMAX_LOGITS_EACH, end = min(first + LANES * ARGMAX_LOGITS_EACH, push.n);
  Best mine = Best(NO_INDEX, LOWEST, LOWEST);
  for (uint i = first + lane; i < end; i += LANES) offer(mine, i, logits[row * push.stride + i]);
  const Best best = workgroup_best(mine);

  precise float sum = 0.0;
  for (uint i = first + lane; i < end; i += LANES) {
    const float logit = logits[row * push.stride + i];
    if (logit > LOWEST) sum += exp(logit - best.largest);
  }
  sum = workgroup_sum(sum);
  if (lane == 0u) partials[row * gl_NumWorkGroups.x + gl_WorkGroupID.x] = Partial(best.index, best.largest, best.second, sum);
}
