#version 450
#extension GL_GOOGLE_include_directive : require
// rows[row][i] = gelu(rows[row][i]) * a layer's inputs[row][i] (token_inputs.comp). Lane = number; y = row.
#include "lib/stage.glsl"
#include "abi/token_gate.h"
#include "lib/activation.glsl"

TOKEN_GATE_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { TOKEN_GATE_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = TOKEN_GATE_ROWS) buffer Rows { float rows[]; };
layout(std430, set = 0, binding = TOKEN_GATE_INPUTS) readonly buffer Inputs { float inputs[]; };

void main() {
  const uint i = gl_GlobalInvocationID.x, at = gl_WorkGroupID.y * push.stride + i;
  if (i >= push.n) return;
  precise float result = gelu(rows[at]);
  result *= inputs[gl_WorkGroupID.y * push.in_stride + push.first + i];
  rows[at] = result;
}
