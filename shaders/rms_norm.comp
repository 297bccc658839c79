#version 450
#extension GL_GOOGLE_include_directive : require
// out[row][i] = x[row][i] * weight[i] / sqrt(mean(x[row]^2) + epsilon), one workgroup per row.
// last_row: only row state.rows - 1, written to row 0 (the one row of a prompt that needs an output).
#include "lib/stage.glsl"
#include "abi/rms_norm.h"

RMS_NORM_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { RMS_NORM_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = RMS_NORM_X) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = RMS_NORM_WEIGHT) readonly buffer Weight { float weight[]; };
layout(std430, set = 0, binding = RMS_NORM_OUT) writeonly buffer Out { float result[]; };
#define STEP_STATE_BINDING RMS_NORM_STATE
#include "lib/step_state.glsl"
#include "lib/reduce.glsl"

void main() {
  const uint from = (push.last_row != 0u ? state.rows - 1u : gl_WorkGroupID.x) * push.stride;
  const uint to = gl_WorkGroupID.x * push.stride;
  precise float squares = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += LANES) {
    const float v = x[from + i];
    squares = fma(v, v, squares);
  }
  precise float scale = 1.0 / sqrt(workgroup_sum(squares) / float(push.n) + push.epsilon);
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += LANES) {
    precise float v = x[from + i] * scale;
    result[to + i] = v * weight[i];
  }
}
