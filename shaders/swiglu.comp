#version 450
#extension GL_GOOGLE_include_directive : require
// out[row][i] = silu(gate[row][i]) * up[row][i]; silu(g) = g / (1 + exp(-g)). Workgroup (x, row).
#include "lib/stage.glsl"
#include "abi/swiglu.h"

SWIGLU_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { SWIGLU_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = SWIGLU_GATE) readonly buffer Gate { float gate[]; };
layout(std430, set = 0, binding = SWIGLU_UP) readonly buffer Up { float up[]; };
layout(std430, set = 0, binding = SWIGLU_OUT) writeonly buffer Out { float result[]; };

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i >= push.n) return;
  const uint at = gl_WorkGroupID.y * push.stride + i;
  precise float g = gate[at];
  precise float silu = g / (1.0 + exp(-g));
  result[at] = silu * up[at];
}
