#version 450
#extension GL_GOOGLE_include_directive : require
// The outputs of attention's heads times the sigmoid of their gates (arXiv 2505.06708), which follow each head of Q in qkv. Invocation:
// x = dimension of all heads, y = row.
#include "lib/stage.glsl"
#include "abi/head_gate.h"

HEAD_GATE_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { HEAD_GATE_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = HEAD_GATE_QKV) readonly buffer QKV { float qkv[]; };
layout(std430, set = 0, binding = HEAD_GATE_ATTENDED) buffer Attended { float attended[]; };

void main() {
  const uint i = gl_GlobalInvocationID.x, row = gl_WorkGroupID.y;
  if (i >= push.width) return;
  const uint head = i / push.head_dim, d = i % push.head_dim;
  const float gate = qkv[row * push.in_stride + (2u * head + 1u) * push.head_dim + d];
  precise float gated = attended[row * push.stride + i] / (1.0 + exp(-gate));
  attended[row * push.stride + i] = gated;
}
