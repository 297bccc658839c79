#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require
// Attention of one row to all keys up to its own, for the HEADS query heads that share a KV head, in one workgroup: for devices of few
// threads (CPU drivers), where splitting the keys (attention.comp) costs a second dispatch and wins nothing.
//
// Shapes: q, out [rows][stride] (q rotated), caches [kv_head][context][HEAD_DIM]. Workgroup (KV head and part of its query heads, row), one
// subgroup. Q, K and V come through texel buffers, 16 bytes at a time; what all lanes need is shuffled (why: docs/vulkan.md).
// Bytes: K and V up to the row's position once per row and workgroup.
//
// Keys are walked in blocks of LANES, a key per lane for the scores, 8 dimensions per lane for V, with a running maximum (online softmax,
// Milakov and Gimelshein 2018). Blocks stand at fixed positions, so nothing depends on the number of rows: the numerics contract.
#define USE_TEXELS
#include "lib/stage.glsl"
#include "abi/attention_serial.h"

ATTENTION_SERIAL_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { ATTENTION_SERIAL_PUSH(SK_FIELD) } push;

layout(set = 0, binding = ATTENTION_SERIAL_Q) uniform usamplerBuffer q_texels;
layout(std430, set = 0, binding = ATTENTION_SERIAL_OUT) writeonly buffer Out { vec4 result[]; };
#define KV_K ATTENTION_SERIAL_K_CACHE
#define KV_V ATTENTION_SERIAL_V_CACHE
#include "lib/kv_read.glsl"
#define STEP_STATE_BINDING ATTENTION_SERIAL_STATE
#include "lib/step_state.glsl"
#include "lib/tree.glsl"

const uint QUADS = HEAD_DIM / 4u, OCTS = HEAD_DIM / 8u;
const uint HELD_QUADS = (QUADS + LANES - 1u) / LANES;   // of a query that a lane holds: lane, lane + LANES, ...
const uint HELD = (OCTS + LANES - 1u) / LANES;          // eights of the result that a lane makes: lane, lane + LANES, ...
#define LOWEST uintBitsToFloat(0xff800000u)

vec4 query[HEADS * HELD_QUADS];
vec4 sum[HEADS * HELD * 2u];
float largest[HEADS];
float total[HEADS];

void load_query(uint first_quad) {
  [[unroll]] for (uint h = 0; h < HEADS; ++h) {
    [[unroll]] for (uint i = 0; i < HELD_QUADS; ++i) {
      const uint quad = min(i * LANES + gl_LocalInvocationID.x, QUADS - 1u);
      query[h * HELD_QUADS + i] = uintBitsToFloat(texelFetch(q_texels, int(first_quad + h * QUADS + quad)));
    }
  }
}

vec4 query_quad(uint h, uint quad) { return subgroupShuffle(query[h * HELD_QUADS + quad / LANES], quad % LANES); }

// This lane's key against the queries; LOWEST for lanes past the last key.
void score_key(uint kv_head, uint key, bool real, out float score[HEADS]) {
  [[unroll]] for (uint h = 0; h < HEADS; ++h) score[h] = 0.0;
  [[unroll]] for (uint oct = 0; oct < OCTS; ++oct) {
    vec4 a, b;
    load_k8(kv_head, key, oct, a, b);
    [[unroll]] for (uint h = 0; h < HEADS; ++h) {
      score[h] = fma4(query_quad(h, 2u * oct), a, score[h]);
      score[h] = fma4(query_quad(h, 2u * oct + 1u), b, score[h]);
    }
  }
  [[unroll]] for (uint h = 0; h < HEADS; ++h) score[h] = real ? score[h] * push.scale : LOWEST;
}

// Turns the block's scores into weights against the new maximum, and shrinks what is there already.
void rescale(inout float score[HEADS]) {
  [[unroll]] for (uint h = 0; h < HEADS; ++h) {
    float top = largest[h];
    [[unroll]] for (uint i = 0; i < LANES; ++i) top = max(top, subgroupShuffle(score[h], i));
    const float shrink = exp(largest[h] - top);
    largest[h] = top;
    score[h] = exp(score[h] - top);
    precise float added = total[h] * shrink;
    [[unroll]] for (uint i = 0; i < LANES; ++i) added += subgroupShuffle(score[h], i);
    total[h] = added;
    [[unroll]] for (uint i = 0; i < HELD * 2u; ++i) sum[h * HELD * 2u + i] *= shrink;
  }
}

void add_values(uint row, uint kv_head, uint first_key, uint keys, float weight[HEADS]) {
  [[unroll]] for (uint i = 0; i < LANES; ++i) {
    // Behind the last key stands what earlier drafts left, NaN perhaps: it must not meet a weight of 0.
    const bool real = i < keys;
    const uint slot = key_slot(row, first_key + min(i, keys - 1u));
    [[unroll]] for (uint held = 0; held < HELD; ++held) {
      vec4 a, b;
      load_v8(kv_head, slot, min(held * LANES + gl_LocalInvocationID.x, OCTS - 1u), a, b);
      a = real ? a : vec4(0.0);
      b = real ? b : vec4(0.0);
      [[unroll]] for (uint h = 0; h < HEADS; ++h) {
        const uint at = (h * HELD + held) * 2u;
        const vec4 w = vec4(subgroupShuffle(weight[h], i));
        precise vec4 first = fma(w, a, sum[at]), second = fma(w, b, sum[at + 1u]);
        sum[at] = first;
        sum[at + 1u] = second;
      }
    }
  }
}

void main() {
  const uint lane = gl_LocalInvocationID.x, row = gl_WorkGroupID.y;
  if (row >= state.rows) return;
  const uint keys = row_position(row) + 1u, parts = push.group / HEADS;
  const uint kv_head = gl_WorkGroupID.x / parts;
  const uint first_head = kv_head * push.group + (gl_WorkGroupID.x % parts) * HEADS;
  const uint first_quad = (row * push.stride >> 2) + first_head * QUADS;
  load_query(first_quad);
  [[unroll]] for (uint h = 0; h < HEADS; ++h) {
    largest[h] = LOWEST;
    total[h] = 0.0;
    [[unroll]] for (uint i = 0; i < HELD * 2u; ++i) sum[h * HELD * 2u + i] = vec4(0.0);
  }
  for (uint block = 0; block < keys; block += LANES) {
    float score[HEADS];
    score_key(kv_head, key_slot(row, min(block + lane, keys - 1u)), block + lane < keys, score);
    rescale(score);
    add_values(row, kv_head, block, min(LANES, keys - block), score);
  }
  [[unroll]] for (uint h = 0; h < HEADS; ++h) {
    [[unroll]] for (uint held = 0; held < HELD; ++held) {
      const uint oct = held * LANES + lane, at = (h * HELD + held) * 2u;
      if (oct < OCTS) {
        result[first_quad + h * QUADS + oct * 2u] = sum[at] / total[h];
        result[first_quad + h * QUADS + oct * 2u + 1u] = sum[at + 1u] / total[h];
      }
    }
  }
}
