#version 450
#extension GL_GOOGLE_include_directive : require
// K and V of the rows of an accepted path move to where a text without the other rows has them: position base + i of sequence 0 gets those
// at base + state.depths[i], for i < state.rows. depths ascends, so nothing is overwritten before it was read.
// Invocation (word of a position, KV head, K or V).
#include "lib/stage.glsl"
#include "abi/move_kv.h"
#include "abi/kv_cache.h"

MOVE_KV_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { MOVE_KV_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = MOVE_KV_K_CACHE) buffer KCache { uint k_cache[]; };
layout(std430, set = 0, binding = MOVE_KV_V_CACHE) buffer VCache { uint v_cache[]; };
#define STEP_STATE_BINDING MOVE_KV_STATE
#include "lib/step_state.glsl"
const uint KEYS = KEYS_TEXT;
#define SK_PAGES
#include "lib/keys.glsl"

void main() {
  const uint word = gl_GlobalInvocationID.x;
  const bool is_v = gl_WorkGroupID.z != 0u;
  const uint words = is_v ? push.v_words : push.k_words;
  if (word >= words) return;
  const uint at = gl_WorkGroupID.y * (is_v ? push.v_head_words : push.k_head_words) + (is_v ? push.v_first : push.k_first) + word;
  for (uint i = 0; i < state.rows; ++i) {
    const uint to = at + slot_of(0u, state.bases[0] + i) * words;
    const uint from = at + slot_of(0u, state.bases[0] + state.depths[i]) * words;
    if (is_v) v_cache[to] = v_cache[from]; else k_cache[to] = k_cache[from];
  }
}
