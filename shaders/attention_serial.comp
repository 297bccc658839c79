#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require
// Attention of ROWS rows to all keys up to their own, for the HEADS query heads that share a KV head, in one workgroup: for devices of few
// threads (CPU drivers), where splitting the keys (attention.comp) costs a second dispatch and wins nothing.
//
// Shapes: q, out [rows][stride] (q rotated), caches [kv_head][slots][HEAD_DIM]. Workgroup (KV head and part of its query heads, ROWS
// neighbouring rows), one subgroup. Q, K and V come through texel buffers, 16 bytes at a time; values that all lanes need are shuffled
// (why: docs/vulkan.md). Bytes: K and V of the text before the pass once per workgroup, after that once per row.
//
// Keys are walked in blocks of LANES, a key per lane for the scores, 8 dimensions per lane for V, with a running maximum (online softmax,
// Milakov and Gimelshein 2018). Blocks are at fixed positions and a row meets each of its keys in the same block whatever ROWS is, so
// nothing depends on the number of rows: the numerics contract. With a layer's own window (WINDOWED) rows that share a block may not see
// all of it: a key that a row does not see has no weight and a value of 0 for it, and a block before its window changes none of its sums.
#define USE_TEXELS
#include "lib/stage.glsl"
#include "abi/attention_serial.h"

ATTENTION_SERIAL_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { ATTENTION_SERIAL_PUSH(SK_FIELD) } push;

layout(set = 0, binding = ATTENTION_SERIAL_Q) uniform usamplerBuffer q_texels;
layout(std430, set = 0, binding = ATTENTION_SERIAL_OUT) writeonly buffer Out { vec4 result[]; };
layout(std430, set = 0, binding = ATTENTION_SERIAL_SINKS) readonly buffer Sinks { float sinks[]; };
#define KV_K ATTENTION_SERIAL_K_CACHE
#define KV_V ATTENTION_SERIAL_V_CACHE
#include "lib/kv_read.glsl"
#define STEP_STATE_BINDING ATTENTION_SERIAL_STATE
#include "lib/step_state.glsl"
#define SK_PAGES
#define SK_LAYER_WINDOW
#include "lib/keys.glsl"
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
uint seen[ROWS];         // of each row, where WINDOWED: the first key that it sees

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

// Turns the block's scores into weights against the new maximum, and scales down the earlier sums.
void rescale(uint queries) {
  [[unroll]] for (uint q = 0; q < queries; ++q) {
    float top = largest[q];
    [[unroll]] for (uint i = 0; i < LANES; ++i) top = max(top, subgroupShuffle(weight[q], i));
    const bool begun = WINDOWED == 0u || top > LOWEST;
    const float shrink = begun ? exp(largest[q] - top) : 1.0;
    largest[q] = top;
    weight[q] = begun ? exp(weight[q] - top) : 0.0;
    precise float added = total[q] * shrink;
    [[unroll]] for (uint i = 0; i < LANES; ++i) added += subgroupShuffle(weight[q], i);
    total[q] = added;
    [[unroll]] for (uint i = 0; i < HELD * 2u; ++i) sum[q * HELD * 2u + i] *= shrink;
  }
}

// Adds the value at `slot`, of lane i's key `key`; for rows whose window begins after it, and with `real` false for all, zeros.
void add_value(uint queries, uint kv_head, uint slot, uint key, uint i, bool real) {
  [[unroll]] for (uint held = 0; held < HELD; ++held) {
    vec4 a, b;
    load_v8(kv_head, slot, min(held * LANES + gl_LocalInvocationID.x, OCTS - 1u), a, b);
    a = real ? a : vec4(0.0);
    b = real ? b : vec4(0.0);
    [[unroll]] for (uint q = 0; q < queries; ++q) {
      const uint at = (q * HELD + held) * 2u;
      const vec4 w = vec4(subgroupShuffle(weight[q], i));
      const bool has = WINDOWED == 0u || key >= seen[q / HEADS];
      precise vec4 first = fma(w, has ? a : vec4(0.0), sum[at]), second = fma(w, has ? b : vec4(0.0), sum[at + 1u]);
      sum[at] = first;
      sum[at + 1u] = second;
    }
  }
}

// The keys from `begin` to before `end`, multiples of LANES not above the base of the rows' sequence: all rows have them.
void attend_shared(uint sequence, uint kv_head, uint begin, uint end) {
  for (uint block = begin; block < end; block += LANES) {
    const uint key = block + gl_LocalInvocationID.x, slot = slot_of(sequence, block);
    score_key(QUERIES, kv_head, slot + gl_LocalInvocationID.x);
    if (WINDOWED != 0u) {
      [[unroll]] for (uint q = 0; q < QUERIES; ++q) weight[q] = key >= seen[q / HEADS] ? weight[q] : LOWEST;
    }
    rescale(QUERIES);
    [[unroll]] for (uint i = 0; i < LANES; ++i) add_value(QUERIES, kv_head, slot + i, block + i, i, true);
  }
}

// The row's other keys.
void attend_own(uint kv_head, uint row, uint begin) {
  const uint keys = row_keys(row);
  for (uint block = begin; block < keys; block += LANES) {
    const uint key = block + gl_LocalInvocationID.x, last = keys - 1u;
    // A block lies within a page.
    const uint slot = KEYS == KEYS_TEXT ? slot_of(state.sequences[row], block) - block : 0u;
    score_key(HEADS, kv_head, KEYS == KEYS_TEXT ? slot + min(key, last) : key_slot(row, min(key, last)));
    const bool visible = key < keys && (WINDOWED == 0u || key >= seen[0]);
    [[unroll]] for (uint h = 0; h < HEADS; ++h) weight[h] = visible ? weight[h] : LOWEST;
    rescale(HEADS);
    [[unroll]] for (uint i = 0; i < LANES; ++i) {
      // Slots past the last key hold leftovers of earlier drafts, NaN perhaps, which must not be multiplied by a weight of 0.
      const uint at = min(block + i, last);
      add_value(HEADS, kv_head, KEYS == KEYS_TEXT ? slot + at : key_slot(row, at), block + i, i, block + i < keys);
    }
  }
}

void put_aside() {
  [[unroll]] for (uint q = 0; q < QUERIES; ++q) {
    const uint at = q * PUT_ASIDE * LANES + gl_LocalInvocationID.x;
    aside[at] = largest[q];
    aside[at + LANES] = total[q];
    [[unroll]] for (uint i = 0; i < HELD * 8u; ++i) aside[at + (2u + i) * LANES] = sum[q * HELD * 2u + i / 4u][i % 4u];
  }
}

void take_up(uint row) {
  [[unroll]] for (uint h = 0; h < HEADS; ++h) {
    const uint at = (row * HEADS + h) * PUT_ASIDE * LANES + gl_LocalInvocationID.x;
    largest[h] = aside[at];
    total[h] = aside[at + LANES];
    [[unroll]] for (uint i = 0; i < HELD * 8u; ++i) sum[h * HELD * 2u + i / 4u][i % 4u] = aside[at + (2u + i) * LANES];
  }
}

// The sinks of the row's heads, which have no values, join after all keys: so they join once, whatever ROWS is.
void join_sinks(uint first_head) {
  [[unroll]] for (uint h = 0; h < HEADS; ++h) {
    const float sink = sinks[first_head + h], top = max(largest[h], sink), shrink = exp(largest[h] - top);
    precise float shrunk = total[h] * shrink;
    total[h] = shrunk + exp(sink - top);
    [[unroll]] for (uint i = 0; i < HELD * 2u; ++i) sum[h * HELD * 2u + i] *= shrink;
  }
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
  const uint rows = min(ROWS, state.rows - first_row);
  const uint sequence = state.sequences[first_row];
  bool together = KEYS != KEYS_WINDOW;
  [[unroll]] for (uint r = 1; r < ROWS; ++r) together = together && (r >= rows || state.sequences[first_row + r] == sequence);
  const uint shared_end = together ? state.bases[sequence] / LANES * LANES : 0u;
  uint shared_begin = WINDOWED != 0u ? shared_end : 0u;
  if (WINDOWED != 0u) {
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
      seen[r] = first_key(first_row + r);
      if (r < rows) shared_begin = min(shared_begin, seen[r] / LANES * LANES);
    }
  }
  [[unroll]] for (uint r = 0; r < ROWS; ++r) load_queries(r * HEADS, ((first_row + r) * push.stride >> 2) + first_head * QUADS);
  [[unroll]] for (uint q = 0; q < QUERIES; ++q) {
    largest[q] = LOWEST;
    total[q] = 0.0;
    [[unroll]] for (uint i = 0; i < HELD * 2u; ++i) sum[q * HELD * 2u + i] = vec4(0.0);
  }
  attend_shared(sequence, kv_head, shared_begin, shared_end);
  put_aside();
  for (uint r = 0; r < rows; ++r) {
    const uint row = first_row + r, first_quad = (row * push.stride >> 2) + first_head * QUADS;
    take_up(r);
    load_queries(0u, first_quad);
    if (WINDOWED != 0u) seen[0] = first_key(row);
    attend_own(kv_head, row, WINDOWED != 0u ? max(shared_end, seen[0] / LANES * LANES) : shared_end);
    if (SINKS != 0u) join_sinks(first_head);
    store(first_quad);
  }
}
