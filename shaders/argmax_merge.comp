#version 450
#extension GL_GOOGLE_include_directive : require
// Joins the LM head's partial results of its ranges of rows (lib/matvec.glsl): token, margin, and probability = softmax at the winner =
// 1 / sum exp(logit - largest). One workgroup per row; lanes take every LANES-th partial and are joined in order.
#include "lib/stage.glsl"
#include "abi/argmax_merge.h"
#include "abi/step_state.h"

ARGMAX_MERGE_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { ARGMAX_MERGE_PUSH(SK_FIELD) } push;

struct Partial { ARGMAX_PARTIAL_FIELDS(SK_FIELD) };
struct RowResult { ROW_RESULT(SK_FIELD) };
layout(std430, set = 0, binding = ARGMAX_MERGE_PARTIAL) readonly buffer Partials { Partial partials[]; };
layout(std430, set = 0, binding = ARGMAX_MERGE_RESULT) writeonly buffer Results { RowResult results[]; };
#include "lib/argmax.glsl"
#include "lib/reduce.glsl"
#include "lib/workgroup_best.glsl"

void main() {
  const uint row = gl_WorkGroupID.x, lane = gl_LocalInvocationID.x;
  Best mine = Best(NO_INDEX, LOWEST, LOWEST);
  for (uint i = lane; i < push.blocks; i += LANES) {
    const Partial p = partials[row * push.blocks + i];
    join(mine, Best(p.index, p.largest, p.second));
  }
  const Best best = workgroup_best(mine);

  precise float sum = 0.0;
  for (uint i = lane; i < push.blocks; i += LANES) {
    const Partial p = partials[row * push.blocks + i];
    if (p.index != NO_INDEX && p.largest > LOWEST) sum += p.sum * exp(p.largest - best.largest);
  }
  sum = workgroup_sum(sum);
  if (lane == 0u) results[row] = RowResult(best.index, 1.0 / sum, best.largest - best.second, best.largest);
}
