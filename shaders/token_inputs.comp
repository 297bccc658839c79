#version 450
#extension GL_GOOGLE_include_directive : require
// What each token gives each layer besides the residual stream (per-layer embeddings): rows[row][layer] = (RMS norm of
// projections[row][layer], times weight, + rows[row][layer]) / sqrt(2). One workgroup per (layer, row).
#include "lib/stage.glsl"
#include "abi/token_inputs.h"

TOKEN_INPUTS_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { TOKEN_INPUTS_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = TOKEN_INPUTS_ROWS) buffer Rows { float rows[]; };
layout(std430, set = 0, binding = TOKEN_INPUTS_PROJECTIONS) readonly buffer Projections { float projections[]; };
layout(std430, set = 0, binding = TOKEN_INPUTS_WEIGHT) readonly buffer Weight { float weight[]; };
#include "lib/reduce.glsl"

void main() {
  const uint first = gl_WorkGroupID.y * push.stride + gl_WorkGroupID.x * push.n;
  precise float squares = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += LANES) {
    const float v = projections[first + i];
    squares = fma(v, v, squares);
  }
  precise float normal = 1.0 / sqrt(workgroup_sum(squares) / float(push.n) + push.epsilon);
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += LANES) {
    precise float v = projections[first + i] * normal;
    precise float sum = v * weight[i];
    sum += rows[first + i];
    rows[first + i] = sum * 0.70710678;   // 1 / sqrt(2)
  }
}
