#version 450
#extension GL_GOOGLE_include_directive : require
// Second half of argmax: joins a row's partials in block order. probability = softmax at the winner = 1 / sum exp(logit - largest).
// One workgroup per row, one lane works: there are only vocabulary / ARGMAX_BLOCK partials.
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

void main() {
  if (gl_LocalInvocationID.x != 0u) return;
  const uint row = gl_WorkGroupID.x;
  Best best = Best(NO_INDEX, LOWEST, LOWEST);
  for (uint i = 0; i < push.blocks; ++i) {
    const Partial p = partials[row * push.blocks + i];
    join(best, Best(p.index, p.largest, p.second));
  }
  precise float sum = 0.0;
  for (uint i = 0; i < push.blocks; ++i) {
    const Partial p = partials[row * push.blocks + i];
    if (p.index != NO_INDEX && p.largest > LOWEST) sum += p.sum * exp(p.largest - best.largest);
  }
  results[row] = RowResult(best.index, 1.0 / sum, best.largest - best.second, best.largest);
}
