#version 450
#extension GL_GOOGLE_include_directive : require
// Each head of Q and K becomes head * weight / sqrt(mean(head^2) + epsilon), in its place (QK-norm; Henry et al. 2020, and Qwen 3's per head).
// A row of qkv is heads of Q, of K, of V; one workgroup per (head of Q or K, row). The sum is added as in rms_norm.comp.
#include "lib/stage.glsl"
#include "abi/head_norm.h"

HEAD_NORM_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { HEAD_NORM_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = HEAD_NORM_QKV) buffer QKV { float qkv[]; };
layout(std430, set = 0, binding = HEAD_NORM_Q_WEIGHT) readonly buffer QWeight { float q_weight[]; };
layout(std430, set = 0, binding = HEAD_NORM_K_WEIGHT) readonly buffer KWeight { float k_weight[]; };
#include "lib/reduce.glsl"

void main() {
  const uint head = gl_WorkGroupID.x, first = gl_WorkGroupID.y * push.stride + head * push.head_dim;
  precise float squares = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < push.head_dim; i += LANES) {
    const float v = qkv[first + i];
    squares = fma(v, v, squares);
  }
  precise float scale = 1.0 / sqrt(workgroup_sum(squares) / float(push.head_dim) + push.epsilon);
  for (uint i = gl_LocalInvocationID.x; i < push.head_dim; i += LANES) {
    precise float v = qkv[first + i] * scale;
    qkv[first + i] = v * (head < push.heads ? q_weight[i] : k_weight[i]);
  }
}
