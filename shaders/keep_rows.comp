#version 450
#extension GL_GOOGLE_include_directive : require
// kept[state.kept + row] = residual[row] for every real row: LayerSkip's exit query cache (arXiv 2404.16710, section 3.3), from which
// verification continues instead of computing the first layers again. Workgroup (x, row).
#include "lib/stage.glsl"
#include "abi/keep_rows.h"

KEEP_ROWS_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { KEEP_ROWS_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = KEEP_ROWS_IN) readonly buffer In { float residual[]; };
layout(std430, set = 0, binding = KEEP_ROWS_OUT) writeonly buffer Out { float kept[]; };
#define STEP_STATE_BINDING KEEP_ROWS_STATE
#include "lib/step_state.glsl"

void main() {
  const uint i = gl_GlobalInvocationID.x, row = gl_WorkGroupID.y;
  if (i >= push.stride || row >= state.rows) return;
  kept[(state.kept + row) * push.stride + i] = residual[row * push.stride + i];
}
