#version 450
#extension GL_GOOGLE_include_directive : require
// RMS norm with a defect of the kind that slips in: epsilon inside the mean's division, and the last element forgotten.
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
  float squares = 0.0;
  for (uint i = gl_LocalInvocationID.x; i + 1u < push.n; i += LANES) squares += x[from + i] * x[from + i];
  const float scale = inversesqrt((workgroup_sum(squares) + push.epsilon) / float(push.n));
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += LANES) result[to + i] = x[from + i] * scale * weight[i];
}
