#version 450
#extension GL_GOOGLE_include_directive : require
// out[row] = residual[row] + scale * (the outputs of the row's experts times their weights, added in the order of its choice, and the
// output of the shared expert). Lane = output; y = row.
#include "lib/stage.glsl"
#include "abi/combine_experts.h"

COMBINE_EXPERTS_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { COMBINE_EXPERTS_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = COMBINE_EXPERTS_OUTPUTS) readonly buffer Outputs { float outputs[]; };
layout(std430, set = 0, binding = COMBINE_EXPERTS_CHOICES) readonly buffer Choices { uvec2 choices[]; };
layout(std430, set = 0, binding = COMBINE_EXPERTS_SHARED) readonly buffer Shared { float shared_outputs[]; };
layout(std430, set = 0, binding = COMBINE_EXPERTS_LOGITS) readonly buffer Logits { float logits[]; };
layout(std430, set = 0, binding = COMBINE_EXPERTS_RESIDUAL) readonly buffer Residual { float residual[]; };
layout(std430, set = 0, binding = COMBINE_EXPERTS_OUT) writeonly buffer Out { float result[]; };

void main() {
  const uint i = gl_GlobalInvocationID.x, row = gl_WorkGroupID.y, at = row * push.stride + i;
  if (i >= push.n) return;
  precise float sum = 0.0;
  for (uint j = 0u; j < push.used; ++j) {
    const uint slot = row * push.used + j;
    sum = fma(uintBitsToFloat(choices[slot].y), outputs[slot * push.stride + i], sum);
  }
  if (SHARED == COMBINE_SHARED) sum += shared_outputs[at];
  if (SHARED == COMBINE_GATED_SHARED) {
    precise float gate = 1.0 / (1.0 + exp(-logits[row * push.logit_stride + push.logit]));
    sum = fma(gate, shared_outputs[at], sum);
  }
  sum *= push.scale;
  if (ADD_RESIDUAL != 0u) sum += residual[at];
  result[at] = sum;
}
