#version 450
#extension GL_GOOGLE_include_directive : require
// cosines[sublayer][row] = <before, after> / (|before| |after|) of one row of the residual stream; 0 where a norm is 0. One workgroup per
// row. "Draft on the Fly" (arXiv 2410.01028) measures attention sublayers by the mean of this over the prompt.
#include "lib/stage.glsl"
#include "abi/cosine.h"
#include "abi/step_state.h"

COSINE_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { COSINE_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = COSINE_BEFORE) readonly buffer Before { float before[]; };
layout(std430, set = 0, binding = COSINE_AFTER) readonly buffer After { float after[]; };
layout(std430, set = 0, binding = COSINE_OUT) writeonly buffer Out { float cosines[]; };
#include "lib/reduce.glsl"

void main() {
  const uint row = gl_WorkGroupID.x;
  precise float dot_product = 0.0, before_squares = 0.0, after_squares = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < push.n; i += LANES) {
    const float a = before[row * push.stride + i], b = after[row * push.stride + i];
    dot_product = fma(a, b, dot_product);
    before_squares = fma(a, a, before_squares);
    after_squares = fma(b, b, after_squares);
  }
  dot_product = workgroup_sum(dot_product);
  before_squares = workgroup_sum(before_squares);
  after_squares = workgroup_sum(after_squares);
  if (gl_LocalInvocationID.x == 0u) {
    const float norms = sqrt(before_squares) * sqrt(after_squares);
    cosines[push.sublayer * STEP_MAX_ROWS + row] = norms > 0.0 ? dot_product / norms : 0.0;
  }
}
