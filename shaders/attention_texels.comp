#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require
// attention.comp for devices where a storage-buffer load costs one scalar load per lane (CPU drivers): Q, K and V come through texel
// buffers, and what all lanes need is broadcast within the one subgroup that a workgroup is. Same buffers, shapes and partial results.
//
// A chunk is walked in blocks of LANES keys, a key per lane for the scores, LANES dimensions quads at a time for V, with a running maximum
// (online softmax). Blocks stand at fixed positions too, so the numerics contract holds: nothing depends on the number of rows.
#define USE_TEXELS
#include "lib/stage.glsl"
#include "abi/attention.h"

ATTENTION_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { ATTENTION_PUSH(SK_FIELD) } push;

layout(set = 0, binding = ATTENTION_Q) uniform usamplerBuffer q_texels;
layout(std430, set = 0, binding = ATTENTION_PARTIAL) writeonly buffer Partial { float partial[]; };
#define KV_K ATTENTION_K_CACHE
#define KV_V ATTENTION_V_CACHE
#include "lib/kv_read.glsl"
#define STEP_STATE_BINDING ATTENTION_STATE
#include "lib/step_state.glsl"

const uint QUADS = HEAD_DIM / 4u;
const uint HELD = (QUADS + LANES - 1u) / LANES;   // quads of a head that a lane holds: lane, lane + LANES, ...
#define LOWEST uintBitsToFloat(0xff800000u)

void main() {
  const uint lane = gl_LocalInvocationID.x;
  const uint chunk = gl_WorkGroupID.x, row = gl_WorkGroupID.z;
  const uint position = state.base + row, first_key = chunk * CHUNK;
  if (first_key > position) return;
  const uint count = min(CHUNK, position + 1u - first_key);
  const uint parts = push.group / HEADS;
  const uint kv_head = gl_WorkGroupID.y / parts;
  const uint first_head = kv_head * push.group + (gl_WorkGroupID.y % parts) * HEADS;
  const uint first_quad = (kv_head * push.context + first_key) * QUADS;
  const uint q_quad = (row * push.q_stride >> 2) + first_head * QUADS;

  vec4 query[HEADS * HELD];
  precise vec4 sum[HEADS * HELD];
  float largest[HEADS];
  precise float total[HEADS];
  [[unroll]] for (uint h = 0; h < HEADS; ++h) {
    largest[h] = LOWEST;
    total[h] = 0.0;
    [[unroll]] for (uint i = 0; i < HELD; ++i) {
      query[h * HELD + i] = uintBitsToFloat(texelFetch(q_texels, int(q_quad + h * QUADS + min(i * LANES + lane, QUADS - 1u))));
      sum[h * HELD + i] = vec4(0.0);
    }
  }

  for (uint block = 0; block < count; block += LANES) {
    const uint key = min(block + lane, count - 1u);
    float score[HEADS];
    [[unroll]] for (uint h = 0; h < HEADS; ++h) score[h] = 0.0;
    [[unroll]] for (uint quad = 0; quad < QUADS; ++quad) {
      const vec4 k = load_k(first_quad + key * QUADS + quad);
      [[unroll]] for (uint h = 0; h < HEADS; ++h) {
        score[h] = fma4(subgroupShuffle(query[h * HELD + quad / LANES], quad % LANES), k, score[h]);
      }
    }
    [[unroll]] for (uint h = 0; h < HEADS; ++h) {
      score[h] = block + lane < count ? score[h] * push.scale : LOWEST;
      float top = largest[h];
      [[unroll]] for (uint i = 0; i < LANES; ++i) top = max(top, subgroupShuffle(score[h], i));
      const float shrink = exp(largest[h] - top);
      largest[h] = top;
      score[h] = exp(score[h] - top);   // from here on the key's weight
      total[h] *= shrink;
      [[unroll]] for (uint i = 0; i < LANES; ++i) total[h] += subgroupShuffle(score[h], i);
      [[unroll]] for (uint i = 0; i < HELD; ++i) sum[h * HELD + i] *= shrink;
    }
    [[unroll]] for (uint i = 0; i < LANES; ++i) {
      // Behind the last key stands what earlier drafts left, NaN perhaps: it must not meet a weight of 0.
      const bool real = block + i < count;
      [[unroll]] for (uint held = 0; held < HELD; ++held) {
        const vec4 stored = load_v(first_quad + min(block + i, count - 1u) * QUADS + min(held * LANES + lane, QUADS - 1u));
        const vec4 v = real ? stored : vec4(0.0);
        [[unroll]] for (uint h = 0; h < HEADS; ++h) {
          sum[h * HELD + held] = fma(vec4(subgroupShuffle(score[h], i)), v, sum[h * HELD + held]);
        }
      }
    }
  }

  const uint record = HEAD_DIM + ATTENTION_PARTIAL_EXTRA;
  [[unroll]] for (uint h = 0; h < HEADS; ++h) {
    const uint at = ((row * push.heads + first_head + h) * push.max_chunks + chunk) * record;
    [[unroll]] for (uint held = 0; held < HELD; ++held) {
      const uint quad = held * LANES + lane;
      if (quad < QUADS) {
        [[unroll]] for (uint i = 0; i < 4; ++i) partial[at + quad * 4u + i] = sum[h * HELD + held][i];
      }
    }
    if (lane == 0u) {
      partial[at + HEAD_DIM] = largest[h];
      partial[at + HEAD_DIM + 1u] = total[h];
    }
  }
}
