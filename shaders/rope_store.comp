#version 450
#extension GL_GOOGLE_include_directive : require
// Rotates Q and K by position (RoPE), stores K and V into the caches at the rows' positions, and Q to q_out.
//
// Shapes: qkv [rows][in_stride] (heads of Q, each at the begin of q_step floats, of K, of V); q_out [rows][q_stride]; caches [kv_head][slots][head_dim]; tables
// of [context][rope_dim/2] (cos, sin), made by the host in double precision. An invocation handles four neighbouring dimensions of one head:
// x = quad index over Q heads, then K heads, then V heads; y = row. With a Q8_0 cache an invocation of K and V handles the 64 dimensions whose
// two scales share a word (lib/kv_blocks.glsl). Padding rows store nothing. head_dim and rope_dim are multiples of 4,
// with NEOX rope_dim of 8 (model::Config checks it).
#include "lib/stage.glsl"
#include "abi/rope_store.h"

ROPE_STORE_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { ROPE_STORE_PUSH(SK_FIELD) } push;

#if defined(USE_TEXELS)
layout(set = 0, binding = ROPE_STORE_QKV) uniform usamplerBuffer qkv_texels;
layout(set = 0, binding = ROPE_STORE_TABLE) uniform usamplerBuffer table_texels;
vec4 load_qkv(uint quad) { return uintBitsToFloat(texelFetch(qkv_texels, int(quad))); }
vec4 load_table(uint quad) { return uintBitsToFloat(texelFetch(table_texels, int(quad))); }
#else
layout(std430, set = 0, binding = ROPE_STORE_QKV) readonly buffer QKV { vec4 qkv[]; };
layout(std430, set = 0, binding = ROPE_STORE_TABLE) readonly buffer Table { vec4 table[]; };
vec4 load_qkv(uint quad) { return qkv[quad]; }
vec4 load_table(uint quad) { return table[quad]; }
#endif
layout(std430, set = 0, binding = ROPE_STORE_Q_OUT) writeonly buffer QOut { vec4 q_out[]; };
layout(std430, set = 0, binding = ROPE_STORE_K_CACHE) writeonly buffer KCache { uint k_cache[]; };
layout(std430, set = 0, binding = ROPE_STORE_V_CACHE) writeonly buffer VCache { uint v_cache[]; };
#define STEP_STATE_BINDING ROPE_STORE_STATE
#include "lib/step_state.glsl"
#define SK_PAGES
#include "lib/keys.glsl"
#include "lib/kv_cache.glsl"

// Pairs (2i, 2i+1): the quad holds two of them; angles is (cos, sin, cos, sin).
vec4 rotate_neighbours(vec4 v, vec4 angles) {
  precise vec4 turned = vec4(v.y, v.x, v.w, v.z) * angles.yyww;
  precise vec4 kept = v * angles.xxzz;
  precise vec4 result = vec4(kept.x - turned.x, kept.y + turned.y, kept.z - turned.z, kept.w + turned.w);
  return result;
}

// Pairs (i, i + rope_dim/2): the partners are in another quad; a and b are (cos, sin) of two angles each.
vec4 rotate_halves(vec4 own, vec4 partner, vec4 a, vec4 b, bool first) {
  precise vec4 turned = partner * vec4(a.y, a.w, b.y, b.w);
  precise vec4 kept = own * vec4(a.x, a.z, b.x, b.z);
  precise vec4 result = first ? kept - turned : kept + turned;
  return result;
}

// `turn`: a row of the tables.
vec4 rotated(vec4 own, uint head_quad, uint d0, uint turn) {
  if (d0 >= push.rope_dim) return own;
  const uint table_row = turn * push.rope_dim;
  if (NEOX == 0u) return rotate_neighbours(own, load_table((table_row + d0) >> 2));
  const uint half_dim = push.rope_dim / 2u;
  const bool first = d0 < half_dim;
  const uint angle = first ? d0 : d0 - half_dim, at = (table_row + 2u * angle) >> 2;
  const vec4 partner = load_qkv(head_quad + ((first ? d0 + half_dim : angle) >> 2));
  return rotate_halves(own, partner, load_table(at), load_table(at + 1u), first);
}

void store_word(bool is_v, uint at, uint word) {
  if (is_v) v_cache[at] = word; else k_cache[at] = word;
}

void store_quad(bool is_v, uint target, vec4 value) {
  if (KV_FORMAT == KV_FORMAT_F16) {
    store_word(is_v, target >> 1, pack_halves(value.x, value.y));
    store_word(is_v, (target >> 1) + 1u, pack_halves(value.z, value.w));
  } else {
    [[unroll]] for (uint i = 0; i < 4; ++i) store_word(is_v, target + i, floatBitsToUint(value[i]));
  }
}

// Stores the block of dimensions first .. first + KV_BLOCK - 1 of a head, its first quant word at `at`. Returns the bits of its scale.
uint store_block(bool is_v, uint head_quad, uint first, uint position, uint at) {
  const uint quads = KV_BLOCK / 4u;
  vec4 values[quads];
  uint largest = 0u;   // as bits, in the order of the magnitudes; NaN is above all
  [[unroll]] for (uint i = 0; i < quads; ++i) {
    const vec4 own = load_qkv(head_quad + (first >> 2) + i);
    values[i] = is_v ? own : rotated(own, head_quad, first + 4u * i, push.k_row + position);
    const uvec4 size = floatBitsToUint(values[i]) & 0x7fffffffu;
    largest = max(largest, max(max(size.x, size.y), max(size.z, size.w)));
  }
  const uint scale_bits = block_scale_bits(largest);
  [[unroll]] for (uint i = 0; i < quads; ++i) store_word(is_v, at + i, pack_quants(values[i], scale_bits));
  return scale_bits;
}

// `index`: a word of scales, over K heads, then V heads.
void store_blocks(uint index, uint row) {
  const uint words = kv_scale_words(push.head_dim);
  if (index >= 2u * push.kv_heads * words) return;
  const uint source = index / words, pair = index % words;
  const bool is_v = source >= push.kv_heads;
  const uint head_quad = (row * push.in_stride + push.heads * push.q_step + source * push.head_dim) >> 2;
  const uint cache = (is_v ? source - push.kv_heads : source) * kv_head_words(push.slots, push.head_dim), quads = push.head_dim / 4u;
  const uint first = pair * 2u * KV_BLOCK, second = first + KV_BLOCK;
  const uint slot = row_slot(row), position = row_position(row), at = cache + slot * quads;
  uint scales = store_block(is_v, head_quad, first, position, at + first / 4u);
  if (second < push.head_dim) scales |= store_block(is_v, head_quad, second, position, at + second / 4u) << 16;
  store_word(is_v, cache + push.slots * quads + slot * words + pair, scales);
}

// `index`: a quad over Q heads, then K heads, then V heads.
void store(uint index, uint row) {
  const uint quads = push.head_dim / 4u, q_quads = push.heads * quads, kv_quads = push.kv_heads * quads;
  if (KV_FORMAT == KV_FORMAT_Q8_0 && index >= q_quads) {
    store_blocks(index - q_quads, row);
    return;
  }
  if (index >= q_quads + 2u * kv_quads) return;
  const bool is_v = index >= q_quads + kv_quads;
  const uint first = index < q_quads ? index / quads * push.q_step : push.heads * push.q_step + (index / quads - push.heads) * push.head_dim;
  const uint head_quad = (row * push.in_stride + first) >> 2, d0 = index % quads * 4u;
  const vec4 own = load_qkv(head_quad + (d0 >> 2));
  const uint turn = (index < q_quads ? push.q_row : push.k_row) + row_position(row);
  const vec4 value = is_v ? own : rotated(own, head_quad, d0, turn);
  if (index < q_quads) {
    q_out[(row * push.q_stride >> 2) + index] = value;
    return;
  }
  const uint head = (index - q_quads) / quads - (is_v ? push.kv_heads : 0u);
  store_quad(is_v, (head * push.slots + row_slot(row)) * push.head_dim + d0, value);
}

void main() {
  const uint row = gl_WorkGroupID.y;
  if (row >= state.rows) return;
  for (uint i = 0; i < ROUNDS; ++i) store((gl_WorkGroupID.x * ROUNDS + i) * LANES + gl_LocalInvocationID.x, row);
}
