#version 450
#extension GL_GOOGLE_include_directive : require
// Rows of a recurrent layer's outputs, gated by SiLU and RMS-normalised by parts, in their place: norm(x) * weight * silu(gate), or with
// GATE_FIRST norm(x * silu(gate)) * weight. One workgroup per (part, row).
#include "lib/stage.glsl"
#include "abi/gated_norm.h"

GATED_NORM_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { GATED_NORM_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = GATED_NORM_ROWS) buffer Rows { float rows[]; };
layout(std430, set = 0, binding = GATED_NORM_IN) readonly buffer In { float inputs[]; };
layout(std430, set = 0, binding = GATED_NORM_WEIGHT) readonly buffer Weight { float weight[]; };
#include "lib/activation.glsl"
#include "lib/reduce.glsl"

void main() {
  const uint part = gl_WorkGroupID.x * push.count, first = gl_WorkGroupID.y * push.stride + part, gates = gl_WorkGroupID.y * push.in_stride + part;
  precise float squares = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < push.count; i += LANES) {
    precise float x = rows[first + i];
    if (GATE_FIRST != 0u) {
      x = x * silu(inputs[gates + i]);
      rows[first + i] = x;   // a lane reads what it wrote
    }
    squares = fma(x, x, squares);
  }
  precise float scale = 1.0 / sqrt(workgroup_sum(squares) / float(push.count) + push.epsilon);
  for (uint i = gl_LocalInvocationID.x; i < push.count; i += LANES) {
    precise float x = rows[first + i] * scale;
    x = x * weight[GATE_FIRST != 0u ? part + i : i];
    if (GATE_FIRST == 0u) x = x * silu(inputs[gates + i]);
    rows[first + i] = x;
  }
}
