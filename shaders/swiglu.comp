#version 450
#extension GL_GOOGLE_include_directive : require
// out[row][i] = silu(gate[row][i]) * up[row][i], or gelu(gate) * up, or a clamped SiLU of gate times a clamped up + 1; a row of gate_up is
// n of gate, then n of up. Or, without a gate, gelu(up) or max(up, 0)^2, where a row of gate_up is n of up.
// Workgroup (x, row). Where the skinny kernels do this themselves (lib/matvec.glsl) it is not needed.
#include "lib/stage.glsl"
#include "abi/swiglu.h"
#include "lib/activation.glsl"

SWIGLU_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { SWIGLU_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = SWIGLU_GATE_UP) readonly buffer GateUp { float gate_up[]; };
layout(std430, set = 0, binding = SWIGLU_OUT) writeonly buffer Out { float result[]; };

float squared_relu(float x) {
  precise float positive = max(x, 0.0);
  precise float result = positive * positive;
  return result;
}

float clamped_swiglu(float gate, float up) {
  precise float g = min(gate, 7.0), u = clamp(up, -7.0, 7.0) + 1.0;
  precise float result = g / (1.0 + exp(-1.702 * g)) * u;
  return result;
}

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i >= push.n) return;
  const uint from = gl_WorkGroupID.y * push.in_stride + i;
  if (ACTIVATION == SWIGLU_CLAMPED_GATE) {
    result[gl_WorkGroupID.y * push.out_stride + i] = clamped_swiglu(gate_up[from], gate_up[from + push.n]);
    return;
  }
  precise float value = ACTIVATION == SWIGLU_SILU_GATE      ? silu(gate_up[from])
                        : ACTIVATION == SWIGLU_SQUARED_RELU ? squared_relu(gate_up[from])
                                                            : gelu(gate_up[from]);
  if (ACTIVATION < SWIGLU_GELU) value *= gate_up[from + push.n];
  result[gl_WorkGroupID.y * push.out_stride + i] = value;
}
