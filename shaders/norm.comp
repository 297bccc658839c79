#version 450
#extension GL_GOOGLE_include_directive : require
// rms_norm.comp for the families that do more: layer norm (arXiv 1607.06450), and norms of a sublayer's addition to the residual stream,
// with the addition. out[row][i] = residual[row][i] + scale * ((x[row][i] - mean) * weight[i] / sqrt(variance + epsilon) + bias[i]); of
// NORM_RMS no mean, no bias, and mean(x^2) for the variance. SCALED: times the number that is in the bias's place. One workgroup per row.
#include "lib/stage.glsl"
#include "abi/norm.h"

NORM_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { NORM_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = NORM_X) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = NORM_WEIGHT) readonly buffer Weight { float weight[]; };
layout(std430, set = 0, binding = NORM_OUT) writeonly buffer Out { float result[]; };
layout(std430, set = 0, binding = NORM_BIAS) readonly buffer Bias { float bias[]; };
layout(std430, set = 0, binding = NORM_RESIDUAL) readonly buffer Residual { float residual[]; };
#define STEP_STATE_BINDING NORM_STATE
#include "lib/step_state.glsl"
#include "lib/reduce.glsl"

float mean_of(uint from) {
  precise float sum = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += LANES) sum += x[from + i];
  return workgroup_sum(sum) / float(push.n);
}

void main() {
  const uint from = (push.last_row != 0u ? state.rows - 1u : gl_WorkGroupID.x) * push.stride;
  const uint to = gl_WorkGroupID.x * push.stride;
  const float mean = KIND != NORM_RMS ? mean_of(from) : 0.0;
  precise float squares = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += LANES) {
    precise float v = x[from + i] - mean;
    squares = fma(v, v, squares);
  }
  precise float normal = 1.0 / sqrt(workgroup_sum(squares) / float(push.n) + push.epsilon);
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += LANES) {
    precise float v = (x[from + i] - mean) * normal;
    precise float out_value = v * weight[i];
    if (KIND == NORM_BIASED) out_value += bias[i];
    out_value *= push.scale;
    if (ADD_RESIDUAL != 0u) out_value += residual[from + i];
    if (SCALED != 0u) out_value *= bias[0];
    result[to + i] = out_value;
  }
}
