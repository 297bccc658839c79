#version 450
#extension GL_GOOGLE_include_directive : require
// Causal attention of many rows (prefill): one query row per SPLIT lanes, LANES / SPLIT rows and one head per workgroup, keys in order with
// a running maximum (online softmax, Milakov and Gimelshein 2018). All lanes read the same K and V at the same time: one load, a broadcast.
//
// Shapes: q, out [rows][stride], caches [kv_head][slots][HEAD_DIM]. Workgroup (row tile, head).
// May round differently from attention.comp: it sets a prompt's KV once, identically for plain and speculative decoding.
//
// A lane has the sums in registers, those of 1 / SPLIT of the head's dimensions: large heads do not fit one lane's on some GPUs. With
// USE_TEXELS (CPU drivers) it has its query there too; Q, K and V come through texel buffers; the subgroup, which is the workgroup, loads
// each K and V vector once, a quad per lane, and broadcasts it. GPUs have no registers for both with heads of 128: there a lane reads its
// query once for AT_ONCE keys, and SPLIT lanes add their parts of these keys' scores in lane order.
#if defined(USE_TEXELS)
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#include "lib/stage.glsl"
#include "abi/attention_prefill.h"

ATTENTION_PREFILL_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { ATTENTION_PREFILL_PUSH(SK_FIELD) } push;

#if defined(USE_TEXELS)
layout(set = 0, binding = ATTENTION_PREFILL_Q) uniform usamplerBuffer q_texels;
vec4 load_q(uint quad) { return uintBitsToFloat(texelFetch(q_texels, int(quad))); }
#else
layout(std430, set = 0, binding = ATTENTION_PREFILL_Q) readonly buffer Q { vec4 q[]; };
vec4 load_q(uint quad) { return q[quad]; }
#endif
layout(std430, set = 0, binding = ATTENTION_PREFILL_OUT) writeonly buffer Out { vec4 result[]; };
layout(std430, set = 0, binding = ATTENTION_PREFILL_SINKS) readonly buffer Sinks { float sinks[]; };
#define KV_K ATTENTION_PREFILL_K_CACHE
#define KV_V ATTENTION_PREFILL_V_CACHE
#include "lib/kv_read.glsl"
#define STEP_STATE_BINDING ATTENTION_PREFILL_STATE
#include "lib/step_state.glsl"
#include "lib/activation.glsl"

const uint QUADS = HEAD_DIM / 4u, PART = QUADS / SPLIT, ROWS = LANES / SPLIT;

#if defined(USE_TEXELS)
// A K or V vector held by the subgroup: lane l has quads l, l + LANES, ...
const uint HELD = (QUADS + LANES - 1u) / LANES;
uint held_quad(uint i) { return min(i * LANES + gl_LocalInvocationID.x, QUADS - 1u); }
#define HOLD(vector, load, head, key) \
  vec4 vector[HELD]; [[unroll]] for (uint i = 0; i < HELD; ++i) vector[i] = load(head, key, held_quad(i));
#define QUAD_OF(vector, load, head, key, i) subgroupShuffle(vector[(i) / LANES], (i) % LANES)
#define QUERY(i) mine[i]
const uint AT_ONCE = 1u, UNROLLED = PART;
#else
#define HOLD(vector, load, head, key)
#define QUAD_OF(vector, load, head, key, i) load(head, key, i)
#define QUERY(i) (load_q(row_quad + (i)) * push.scale)
const uint AT_ONCE = 4u, UNROLLED = PART % 4u == 0u ? 4u : 1u;
shared vec4 parts[2u * LANES];   // of AT_ONCE scores; of a turn and the one before, which some lanes may still read
#endif

void main() {
  const uint first_row = gl_WorkGroupID.x * ROWS, lane = gl_LocalInvocationID.x;
  if (first_row >= state.rows) return;
  const uint head = gl_WorkGroupID.y;
  const uint row = min(first_row + lane / SPLIT, state.rows - 1u);   // lanes past the end repeat the last row, write nothing
  const uint position = state.bases[0] + row;
  const uint last_key = state.bases[0] + min(first_row + ROWS, state.rows) - 1u;
  const uint kv_head = head / push.group;
  const uint row_quad = (row * push.stride >> 2) + head * QUADS;
  const uint first_quad = lane % SPLIT * PART;

  vec4 sum[PART];
  [[unroll]] for (uint i = 0; i < PART; ++i) sum[i] = vec4(0.0);
#if defined(USE_TEXELS)
  vec4 mine[QUADS];
  [[unroll]] for (uint i = 0; i < QUADS; ++i) mine[i] = load_q(row_quad + i) * push.scale;
#endif
  // A sink is a key before all others, without a value.
  float largest = SINKS != 0u ? sinks[head] : uintBitsToFloat(0xff800000u);
  float total = SINKS != 0u ? 1.0 : 0.0;
  uint turn = 0u;
  const uint first_position = state.bases[0] + first_row;
  const uint first_key = WINDOWED != 0u && first_position >= push.window ? first_position + 1u - push.window : 0u;
  for (uint page = first_key / KV_PAGE; page <= last_key / KV_PAGE; ++page) {
    const uint moved = state.pages[push.tables + state.tables[0] + page] - page * KV_PAGE;   // from a position to its place in the cache
    const uint end = min((page + 1u) * KV_PAGE, last_key + 1u);
    for (uint first = max(first_key, page * KV_PAGE); first < end; first += AT_ONCE) {
      HOLD(k, load_k, kv_head, first + moved)
      HOLD(v, load_v, kv_head, first + moved)
      float score[AT_ONCE];
      [[unroll]] for (uint t = 0; t < AT_ONCE; ++t) score[t] = 0.0;
      for (uint some = 0; some < PART; some += UNROLLED) {
        [[unroll]] for (uint i = 0; i < UNROLLED; ++i) {
          const uint quad = first_quad + some + i;
          const vec4 query = QUERY(quad);
          [[unroll]] for (uint t = 0; t < AT_ONCE; ++t) {
            const uint slot = (AT_ONCE == 1u ? first : min(first + t, end - 1u)) + moved;
            score[t] = fma4(query, QUAD_OF(k, load_k, kv_head, slot, quad), score[t]);
          }
        }
      }
#if !defined(USE_TEXELS)
      if (SPLIT > 1u) {
        parts[turn * LANES + lane] = vec4(score[0], score[1], score[2], score[3]);
        barrier();
        precise vec4 whole = parts[turn * LANES + lane / SPLIT * SPLIT];
        [[unroll]] for (uint part = 1; part < SPLIT; ++part) whole += parts[turn * LANES + lane / SPLIT * SPLIT + part];
        [[unroll]] for (uint t = 0; t < AT_ONCE; ++t) score[t] = whole[t];
        turn ^= 1u;
      }
#endif
      [[unroll]] for (uint t = 0; t < AT_ONCE; ++t) {
        const uint key = first + t;
        if (AT_ONCE != 1u && key >= end) continue;
        if (SOFTCAP != 0u) score[t] = softcap(score[t], push.cap);
        const bool visible = key <= position && (WINDOWED == 0u || position - key < push.window);
        if (visible && score[t] > largest) {
          const float shrink = exp(largest - score[t]);
          total *= shrink;
          [[unroll]] for (uint i = 0; i < PART; ++i) sum[i] *= shrink;
          largest = score[t];
        }
        const float weight = visible ? exp(score[t] - largest) : 0.0;
        total += weight;
        [[unroll]] for (uint i = 0; i < PART; ++i) sum[i] = fma(vec4(weight), QUAD_OF(v, load_v, kv_head, key + moved, first_quad + i), sum[i]);
      }
    }
  }
  if (first_row + lane / SPLIT < state.rows) {
    [[unroll]] for (uint i = 0; i < PART; ++i) result[row_quad + first_quad + i] = sum[i] / total;
  }
}
