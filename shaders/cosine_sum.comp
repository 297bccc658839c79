#version 450
#extension GL_GOOGLE_include_directive : require
// total[sublayer] += sum over the real rows of this pass of cosines[sublayer][row], in row order. One invocation per sublayer.
#include "lib/stage.glsl"
#include "abi/cosine_sum.h"

COSINE_SUM_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { COSINE_SUM_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = COSINE_SUM_ROWS) readonly buffer Rows { float cosines[]; };
layout(std430, set = 0, binding = COSINE_SUM_TOTAL) buffer Total { float total[]; };
#define STEP_STATE_BINDING COSINE_SUM_STATE
#include "lib/step_state.glsl"

void main() {
  const uint sublayer = gl_GlobalInvocationID.x;
  if (sublayer >= push.sublayers) return;
  precise float sum = total[sublayer];
  for (uint row = 0; row < state.rows; ++row) sum += cosines[sublayer * STEP_MAX_ROWS + row];
  total[sublayer] = sum;
}
