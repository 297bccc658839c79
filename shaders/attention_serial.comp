#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require
// Attention of ROWS rows to all keys up to their own, for the HEADS query heads that share a KV head, in one workgroup: for devices of few
// threads (CPU drivers), where splitting the keys (attention.comp) costs a second dispatch and wins nothing.
//
// Shapes: q, out [rows][stride] (q rotated), caches [kv_head][context][HEAD_DIM]. Workgroup (KV head and part of its query heads, ROWS
// neighbouring rows), one subgroup. Q, K and V come through texel buffers, 16 bytes at a time; what all lanes need is shuffled (why:
// docs/vulkan.md). Bytes: K and V of the text before the pass once per workgroup, behind that once per row.
//
// Keys are walked in blocks of LANES, a key per lane for the scores, 8 dimensions per lane for V, with a running maximum (online softmax,
// Milakov and Gimelshein 2018). Blocks stand at fixed positions and a row meets each of its keys in the same block whatever ROWS is, so
// nothing depends on the number of rows: the numerics contract. With a layer's own window the rows of a workgroup see their first blocks one
// row after the other, since their windows begin at different keys; then come the blocks that all of them see whole, as without a window.
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
#define SK_LAYER_WINDOW
#include "lib/tree.glsl"
#include "lib/activation.glsl"

const uint QUADS = HEAD_DIM / 4u, OCTS = HEAD_DIM / 8u;
const uint HELD_QUADS = (QUADS + LANES - 1u) / LANES;   // of a query that a lane holds: lane, lane + LANES, ...
const uint HELD = (OCTS + LANES - 1u) / LANES;          // eights of the result that a lane makes: lane, lane + LANES, ...
const uint QUERIES = ROWS * HEADS;                      // a query head of a row each: row * HEADS + head
const uint PUT_ASIDE = HELD * 8u + 2u;
#define LOWEST uintBitsToFloat(0xff800000u)

// Of each query. The functions below handle the first `queries` of them: all, or one row's at index 0.
vec4 query[QUERIES * HELD_QUADS];
vec4 sum[QUERIES * HELD * 2u];
float largest[QUERIES];
float total[QUERIES];
float weight[QUERIES];   // this lane's key's: its score, then its share

// Where rows wait for their turn with the keys of the pass itself; each lane reads what it wrote.
shared float aside[QUERIES * PUT_ASIDE * LANES];

void load_queries(uint at, uint first_quad) {
  [[unroll]] for (uint h = 0; h < HEADS; ++h) {
    [[unroll]] for (uint i = 0; i < HELD_QUADS; ++i) {
      const uint quad = min(i * LANES + gl_LocalInvocationID.x, QUADS - 1u);
      query[(at + h) * HELD_QUADS + i] = uintBitsToFloat(texelFetch(q_texels, int(first_quad + h * QUADS + quad)));
    }
  }
}

vec4 query_quad(uint q, uint quad) { return subgroupShuffle(query[q * HELD_QUADS + quad / LANES], quad % LANES); }

// This lane's key against the queries.
void score_key(uint queries, uint kv_head, uint slot) {
  [[unroll]] for (uint q = 0; q < queries; ++q) weight[q] = 0.0;
  [[unroll]] for (uint oct = 0; oct < OCTS; ++oct) {
    vec4 a, b;
    load_k8(kv_head, slot, oct, a, b);
    [[unroll]] for (uint q = 0; q < queries; ++q) {
      weight[q] = fma4(query_quad(q, 2u * oct), a, weight[q]);
      weight[q] = fma4(query_quad(q, 2u * oct + 1u), b, weight[q]);
    }
  }
  [[unroll]] for (uint q = 0; q < queries; ++q) {
    precise float scaled = weight[q] * push.scale;
    weight[q] = SOFTCAP != 0u ? softcap(scaled, push.cap) : scaled;
  }
}

// Turns the block's scores into weights against the new maximum, and shrinks what is there already.
void rescale(uint queries) {
  [[unroll]] for (uint q = 0; q < queries; ++q) {
    float top = largest[q];
    [[unroll]] for (uint i = 0; i < LANES; ++i) top = max(top, subgroupShuffle(weight[q], i));
    const float shrink = exp(largest[q] - top);
    largest[q] = top;
    weight[q] = exp(weight[q] - top);
    precise float added = total[q] * shrink;
    [[unroll]] for (uint i = 0; i < LANES; ++i) added += subgroupShuffle(weight[q], i);
    total[q] = added;
    [[unroll]] for (uint i = 0; i < HELD * 2u; ++i) sum[q * HELD * 2u + i] *= shrink;
  }
}

// Adds the value at `slot`, of lane i's key; with `real` false, zeros.
void add_value(uint queries, uint kv_head, uint slot, uint i, bool real) {
  [[unroll]] for (uint held = 0; held < HELD; ++held) {
    vec4 a, b;
    load_v8(kv_head, slot, min(held * LANES + gl_LocalInvocationID.x, OCTS - 1u), a, b);
    a = real ? a : vec4(0.0);
    b = real ? b : vec4(0.0);
    [[unroll]] for (uint q = 0; q < queries; ++q) {
      const uint at = (q * HELD + held) * 2u;
      const vec4 w = vec4(subgroupShuffle(weight[q], i));
      precise vec4 first = fma(w, a, sum[at]), second = fma(w, b, sum[at + 1u]);
      sum[at] = first;
      sum[at + 1u] = second;
    }
  }
}

// The keys from `begin` to before `end`, multiples of LANES not above state.base: every row sees them all, and in the same places.
void attend_shared(uint kv_head, uint begin, uint end) {
  for (uint block = begin; block < end; block += LANES) {
    score_key(QUERIES, kv_head, block + gl_LocalInvocationID.x);
    rescale(QUERIES);
    [[unroll]] for (uint i = 0; i < LANES; ++i) add_value(QUERIES, kv_head, block + i, i, true);
  }
}

// The row's keys in the blocks from `begin` to before `end`.
void attend_own(uint kv_head, uint row, uint begin, uint end) {
  const uint keys = row_keys(row), seen = first_key(row);
  for (uint block = begin; block < end; block += LANES) {
    const uint key = block + gl_LocalInvocationID.x;
    score_key(HEADS, kv_head, key_slot(row, min(key, keys - 1u)));
    const bool visible = key < keys && (WINDOWED == 0u || key >= seen);
    [[unroll]] for (uint h = 0; h < HEADS; ++h) weight[h] = visible ? weight[h] : LOWEST;
    rescale(HEADS);
    [[unroll]] for (uint i = 0; i < LANES; ++i) {
      // Behind the last key stands what earlier drafts left, NaN perhaps: it must not meet a weight of 0. Nor must what a window leaves out.
      const bool real = block + i < keys && (WINDOWED == 0u || block + i >= seen);
      add_value(HEADS, kv_head, key_slot(row, min(block + i, keys - 1u)), i, real);
    }
  }
}

// The first `queries` of them, as those of rows from `row` on; take_up() is the way back.
void put_aside(uint queries, uint row) {
  [[unroll]] for (uint q = 0; q < queries; ++q) {
    const uint at = (row * HEADS + q) * PUT_ASIDE * LANES + gl_LocalInvocationID.x;
    aside[at] = largest[q];
    aside[at + LANES] = total[q];
    [[unroll]] for (uint i = 0; i < HELD * 8u; ++i) aside[at + (2u + i) * LANES] = sum[q * HELD * 2u + i / 4u][i % 4u];
  }
}

void take_up(uint queries, uint row) {
  [[unroll]] for (uint q = 0; q < queries; ++q) {
    const uint at = (row * HEADS + q) * PUT_ASIDE * LANES + gl_LocalInvocationID.x;
    largest[q] = aside[at];
    total[q] = aside[at + LANES];
    [[unroll]] for (uint i = 0; i < HELD * 8u; ++i) sum[q * HELD * 2u + i / 4u][i % 4u] = aside[at + (2u + i) * LANES];
  }
}

uint block_of(uint key) { return key / LANES * LANES; }

// The blocks in which some row's window begins, each row by itself; gives the first block behind them, at most `end`.
uint attend_begins(uint kv_head, uint first_row, uint rows, uint first_head, uint end) {
  uint behind = 0u;
  for (uint r = 0; r < rows; ++r) behind = max(behind, block_of(first_key(first_row + r) + LANES - 1u));
  behind = min(behind, end);
  put_aside(QUERIES, 0u);
  for (uint r = 0; r < rows; ++r) {
    const uint row = first_row + r;
    take_up(HEADS, r);
    load_queries(0u, (row * push.stride >> 2) + first_head * QUADS);
    attend_own(kv_head, row, block_of(first_key(row)), behind);
    put_aside(HEADS, r);
  }
  take_up(QUERIES, 0u);
  return behind;
}

void store(uint first_quad) {
  [[unroll]] for (uint h = 0; h < HEADS; ++h) {
    [[unroll]] for (uint held = 0; held < HELD; ++held) {
      const uint oct = held * LANES + gl_LocalInvocationID.x, at = (h * HELD + held) * 2u;
      if (oct < OCTS) {
        result[first_quad + h * QUADS + oct * 2u] = sum[at] / total[h];
        result[first_quad + h * QUADS + oct * 2u + 1u] = sum[at + 1u] / total[h];
      }
    }
  }
}

void main() {
  const uint first_row = gl_WorkGroupID.y * ROWS;
  if (first_row >= state.rows) return;
  const uint parts = push.group / HEADS, kv_head = gl_WorkGroupID.x / parts;
  const uint first_head = kv_head * push.group + (gl_WorkGroupID.x % parts) * HEADS;
  const uint shared_end = TREE == KEYS_WINDOW ? 0u : block_of(state.base);
  const uint rows = min(ROWS, state.rows - first_row);
  [[unroll]] for (uint q = 0; q < QUERIES; ++q) {
    largest[q] = LOWEST;
    total[q] = 0.0;
    [[unroll]] for (uint i = 0; i < HELD * 2u; ++i) sum[q * HELD * 2u + i] = vec4(0.0);
  }
  const uint shared_begin = WINDOWED != 0u ? attend_begins(kv_head, first_row, rows, first_head, shared_end) : 0u;
  [[unroll]] for (uint r = 0; r < ROWS; ++r) load_queries(r * HEADS, ((first_row + r) * push.stride >> 2) + first_head * QUADS);
  attend_shared(kv_head, shared_begin, shared_end);
  put_aside(QUERIES, 0u);
  for (uint r = 0; r < rows; ++r) {
    const uint row = first_row + r, first_quad = (row * push.stride >> 2) + first_head * QUADS;
    take_up(HEADS, r);
    load_queries(0u, first_quad);
    attend_own(kv_head, row, max(shared_end, block_of(first_key(row))), row_keys(row));
    store(first_quad);
  }
}
