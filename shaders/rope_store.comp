#version 450
#extension GL_GOOGLE_include_directive : require
// Rotates Q and K by position (RoPE), stores K and V into the caches at the rows' positions, and Q to q_out.
//
// Shapes: qkv [rows][in_stride] (heads of Q, of K, of V); q_out [rows][q_stride]; caches [kv_head][context][head_dim]; table [context][rope_dim/2] of (cos, sin),
// made by the host in double precision. An invocation handles two neighbouring dimensions of one head (one cache word in half precision):
// x = pair index over Q heads, then K heads, then V heads; y = row. Padding rows store nothing.
#include "lib/stage.glsl"
#include "abi/rope_store.h"

ROPE_STORE_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { ROPE_STORE_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = ROPE_STORE_QKV) readonly buffer QKV { float qkv[]; };
layout(std430, set = 0, binding = ROPE_STORE_TABLE) readonly buffer Table { vec2 table[]; };
layout(std430, set = 0, binding = ROPE_STORE_Q_OUT) writeonly buffer QOut { float q_out[]; };
layout(std430, set = 0, binding = ROPE_STORE_K_CACHE) writeonly buffer KCache { uint k_cache[]; };
layout(std430, set = 0, binding = ROPE_STORE_V_CACHE) writeonly buffer VCache { uint v_cache[]; };
#define STEP_STATE_BINDING ROPE_STORE_STATE
#include "lib/step_state.glsl"
#include "lib/kv_cache.glsl"

// Dimension d of a head after rotation, given it and its partner. `first`: d is the pair's first element.
float rotate(float own, float partner, vec2 cos_sin, bool first) {
  precise float turned = partner * cos_sin.y;
  precise float kept = own * cos_sin.x;
  precise float result = first ? kept - turned : kept + turned;
  return result;
}

// Where dimension d finds its partner, its angle, and which of the two it is.
void pairing(uint d, out uint partner, out uint angle, out bool first) {
  const uint half_dim = push.rope_dim / 2u;
  if (HALVES != 0u) {
    first = d < half_dim;
    partner = first ? d + half_dim : d - half_dim;
    angle = first ? d : d - half_dim;
  } else {
    first = (d & 1u) == 0u;
    partner = d ^ 1u;
    angle = d / 2u;
  }
}

void main() {
  const uint row = gl_WorkGroupID.y;
  if (row >= state.rows) return;
  const uint position = state.base + row;
  const uint pairs = push.head_dim / 2u;
  uint index = gl_GlobalInvocationID.x;
  const uint q_pairs = push.heads * pairs, kv_pairs = push.kv_heads * pairs;
  if (index >= q_pairs + 2u * kv_pairs) return;
  const bool is_q = index < q_pairs;
  const bool is_v = index >= q_pairs + kv_pairs;
  index -= is_q ? 0u : is_v ? q_pairs + kv_pairs : q_pairs;
  const uint head = index / pairs, d0 = (index % pairs) * 2u;

  float value[2];
  const uint first_head = is_q ? 0u : is_v ? push.heads + push.kv_heads : push.heads;
  const uint source = row * push.in_stride + (first_head + head) * push.head_dim;
  [[unroll]] for (uint i = 0; i < 2; ++i) {
    const uint d = d0 + i;
    const float own = qkv[source + d];
    value[i] = own;
    if (!is_v && d < push.rope_dim) {
      uint partner, angle;
      bool first;
      pairing(d, partner, angle, first);
      const float other = qkv[source + partner];
      value[i] = rotate(own, other, table[position * (push.rope_dim / 2u) + angle], first);
    }
  }

  if (is_q) {
    const uint to = row * push.q_stride + head * push.head_dim + d0;
    q_out[to] = value[0];
    q_out[to + 1u] = value[1];
    return;
  }
  const uint target = (head * push.context + position) * push.head_dim + d0;
  if (KV_F16 != 0u) {
    const uint word = pack_halves(value[0], value[1]);
    if (is_v) v_cache[target >> 1] = word; else k_cache[target >> 1] = word;
  } else {
    [[unroll]] for (uint i = 0; i < 2; ++i) {
      if (is_v) v_cache[target + i] = floatBitsToUint(value[i]); else k_cache[target + i] = floatBitsToUint(value[i]);
    }
  }
}
