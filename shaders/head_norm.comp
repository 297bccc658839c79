#version 450
#extension GL_GOOGLE_include_directive : require
// Each part of Q and K becomes part * weight / sqrt(mean(part^2) + epsilon), in its place (QK-norm; Henry et al. 2020). A part is a head
// (Qwen 3), or all heads of Q, all of K (OLMo 2, arXiv 2501.00656). A row of qkv is Q, K, V; one workgroup per (part of Q or K, row). The
// sum is added as in rms_norm.comp.
#include "lib/stage.glsl"
#include "abi/head_norm.h"

HEAD_NORM_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { HEAD_NORM_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = HEAD_NORM_QKV) buffer QKV { float qkv[]; };
layout(std430, set = 0, binding = HEAD_NORM_Q_WEIGHT) readonly buffer QWeight { float q_weight[]; };
layout(std430, set = 0, binding = HEAD_NORM_K_WEIGHT) readonly buffer KWeight { float k_weight[]; };
#include "lib/reduce.glsl"

void main() {
  const bool is_k = gl_WorkGroupID.x >= push.q_parts;
  const uint length = is_k ? push.k_length : push.q_length, k_part = gl_WorkGroupID.x - push.q_parts;
  const uint first =
      gl_WorkGroupID.y * push.stride + (is_k ? push.q_parts * push.q_step + k_part * length : gl_WorkGroupID.x * push.q_step);
  precise float squares = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < length; i += LANES) {
    const float v = qkv[first + i];
    squares = fma(v, v, squares);
  }
  precise float scale = 1.0 / sqrt(workgroup_sum(squares) / float(length) + push.epsilon);
  for (uint i = gl_LocalInvocationID.x; i < length; i += LANES) {
    precise float v = qkv[first + i] * scale;
    if (VALUES == HEAD_NORM_KEYS_AS_VALUES && is_k) qkv[first + push.k_parts * length + i] = v;
    const bool is_v = VALUES == HEAD_NORM_OWN_VALUES && is_k && k_part >= push.k_parts;
    qkv[first + i] = is_v ? v : v * (is_k ? k_weight[i] : q_weight[i]);
  }
}
