#version 450
#extension GL_GOOGLE_include_directive : require
// Attention of one row to one CHUNK of keys, for the HEADS query heads that share a KV head: partial softmax and weighted sum of V.
//
// Shapes: q [rows][q_stride] (rotated), caches [kv_head][slots][HEAD_DIM], partial [row][head][max_chunks][HEAD_DIM + extra].
// Workgroup (chunk, KV head and part of its query heads, row); group counts come from state.attention_groups, for the layers with the
// most such parts.
// Bytes: K and V of a chunk once per row and KV head. Chunks are at fixed positions (chunk c = keys c*CHUNK ...), so a row's result
// does not depend on the number of rows; within a chunk keys are added in order. Lanes take keys for the scores, dimensions for V. Chunks
// that a window leaves out are not read.
#include "lib/stage.glsl"
#include "abi/attention.h"

ATTENTION_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { ATTENTION_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = ATTENTION_Q) readonly buffer Q { vec4 q[]; };
layout(std430, set = 0, binding = ATTENTION_PARTIAL) writeonly buffer Partial { float partial[]; };
#define KV_K ATTENTION_K_CACHE
#define KV_V ATTENTION_V_CACHE
#include "lib/kv_read.glsl"
#define STEP_STATE_BINDING ATTENTION_STATE
#include "lib/step_state.glsl"
#define SK_PAGES
#define SK_LAYER_WINDOW
#include "lib/keys.glsl"
#include "lib/activation.glsl"

const uint QUADS = HEAD_DIM / 4u;
const uint UNROLLED = QUADS % 4u == 0u ? 4u : 1u;   // so that compilers see loads of 16 bytes side by side: sixteen quants, eight halves
shared float weight_of[HEADS * CHUNK];   // first the scores, then exp(score - maximum)
shared float largest_of[HEADS * ATTENTION_SHARES];

float largest(uint head) {
  float top = largest_of[head * ATTENTION_SHARES];
  [[unroll]] for (uint i = 1; i < ATTENTION_SHARES; ++i) top = max(top, largest_of[head * ATTENTION_SHARES + i]);
  return top;
}

void score_keys(uint row, uint kv_head, uint first_of_keys, uint count, uint q_quad) {
  for (uint key = gl_LocalInvocationID.x; key < count; key += LANES) {
    float score[HEADS];
    [[unroll]] for (uint h = 0; h < HEADS; ++h) score[h] = 0.0;
    const uint slot = key_slot(row, first_of_keys + key);
    for (uint first = 0; first < QUADS; first += UNROLLED) {
      [[unroll]] for (uint i = 0; i < UNROLLED; ++i) {
        const uint quad = first + i;
        const vec4 k = load_k(kv_head, slot, quad);
        [[unroll]] for (uint h = 0; h < HEADS; ++h) score[h] = fma4(q[q_quad + h * QUADS + quad], k, score[h]);
      }
    }
    [[unroll]] for (uint h = 0; h < HEADS; ++h) {
      const float scaled = score[h] * push.scale;
      weight_of[h * CHUNK + key] = SOFTCAP != 0u ? softcap(scaled, push.cap) : scaled;
    }
  }
}

// Adds COUNT keys from FIRST_KEY on to `sum`, in order, once all their values are on the way: a wait for each would be the kernel's time.
const uint AHEAD = 8u;
#define ADD_VALUES(FIRST_KEY, COUNT) {                                                                                                      \
    vec4 v[COUNT];                                                                                                                          \
    [[unroll]] for (uint i = 0; i < COUNT; ++i) v[i] = load_v(kv_head, key_slot(row, first + FIRST_KEY + i), quad);                         \
    [[unroll]] for (uint i = 0; i < COUNT; ++i)                                                                                             \
      [[unroll]] for (uint h = 0; h < HEADS; ++h) sum[h] = fma(vec4(weight_of[h * CHUNK + FIRST_KEY + i]), v[i], sum[h]);                   \
  }

void main() {
  const uint lane = gl_LocalInvocationID.x;
  const uint chunk = gl_WorkGroupID.x, row = gl_WorkGroupID.z;
  const uint keys = row_keys(row), seen = first_key(row);
  if (chunk * CHUNK >= keys || (chunk + 1u) * CHUNK <= seen || gl_WorkGroupID.y * HEADS >= push.heads) return;
  const uint first = max(chunk * CHUNK, seen), count = min((chunk + 1u) * CHUNK, keys) - first;
  const uint parts = push.group / HEADS;
  const uint kv_head = gl_WorkGroupID.y / parts;
  const uint first_head = kv_head * push.group + (gl_WorkGroupID.y % parts) * HEADS;

  score_keys(row, kv_head, first, count, (row * push.q_stride >> 2) + first_head * QUADS);
  barrier();

  // The maximum, which no order changes: of parts of the keys, then of the parts.
  for (uint i = lane; i < HEADS * ATTENTION_SHARES; i += LANES) {
    const uint h = i / ATTENTION_SHARES;
    float part = weight_of[h * CHUNK];
    for (uint key = i % ATTENTION_SHARES; key < count; key += ATTENTION_SHARES) part = max(part, weight_of[h * CHUNK + key]);
    largest_of[i] = part;
  }
  barrier();
  [[unroll]] for (uint h = 0; h < HEADS; ++h) {
    const float top = largest(h);
    for (uint key = lane; key < count; key += LANES) weight_of[h * CHUNK + key] = exp(weight_of[h * CHUNK + key] - top);
  }
  barrier();

  const uint record = HEAD_DIM + ATTENTION_PARTIAL_EXTRA;
  const uint out_first = ((row * push.heads + first_head) * push.max_chunks + chunk) * record;
  const uint out_head = push.max_chunks * record;
  for (uint quad = lane; quad < QUADS; quad += LANES) {
    precise vec4 sum[HEADS];
    [[unroll]] for (uint h = 0; h < HEADS; ++h) sum[h] = vec4(0.0);
    const uint whole = count - count % AHEAD;
    for (uint key = 0; key < whole; key += AHEAD) ADD_VALUES(key, AHEAD)
    for (uint key = whole; key < count; ++key) ADD_VALUES(key, 1u)
    [[unroll]] for (uint h = 0; h < HEADS; ++h) {
      [[unroll]] for (uint i = 0; i < 4; ++i) partial[out_first + h * out_head + quad * 4u + i] = sum[h][i];
    }
  }
  for (uint h = lane; h < HEADS; h += LANES) {
    precise float total = 0.0;
    for (uint key = 0; key < count; ++key) total += weight_of[h * CHUNK + key];
    partial[out_first + h * out_head + HEAD_DIM] = largest(h);
    partial[out_first + h * out_head + HEAD_DIM + 1u] = total;
  }
}
