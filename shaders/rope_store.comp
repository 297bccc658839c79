#version 450
#extension GL_GOOGLE_include_directive : require
// Rotates Q and K by position (RoPE), stores K and V into the caches at the rows' positions, and Q to q_out.
//
// Shapes: qkv [rows][in_stride] (heads of Q, each at the beginning of q_step floats, of K, of V); q_out [rows][q_stride]; caches
// [kv_head][slots][head_dim]; tables of [context][rope_dim/2] (cos, sin), made by the host in double precision. An invocation handles four
// neighbouring dimensions of one head: x = quad index over Q heads, then K heads, then V heads; y = row. In caches with blocks an
// invocation of K and V handles two of them, whose scales may share a word (lib/kv_blocks.glsl). Padding rows store nothing. head_dim and
// rope_dim are multiples of 4, with NEOX rope_dim of 8 (model::Config checks it).
//
// LATENT: attention with latents (arXiv 2405.04434, section 2.1). A row of qkv is the one key, whose first dimensions are its value too,
// then the heads of Q. The last rope_dim dimensions of a head rotate; of Q these alone go to q_out, beside those that another kernel makes.
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
#if defined(LATENT)
  const uint still = push.head_dim - push.rope_dim;
  if (d0 < still) return own;
  head_quad += still >> 2;
  d0 -= still;
#else
  if (d0 >= push.rope_dim) return own;
#endif
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
  if ((is_v ? V_FORMAT : K_FORMAT) == KV_FORMAT_F16) {
    store_word(is_v, target >> 1, pack_halves(value.x, value.y));
    store_word(is_v, (target >> 1) + 1u, pack_halves(value.z, value.w));
  } else {
    for (uint i = 0; i < 4; ++i) store_word(is_v, target + i, floatBitsToUint(value[i]));
  }
}

#if KV_BLOCKS > 0
// Stores the codes of dimensions first .. first + KV_BLOCK - 1 of a head, the first word of them at `at`. Returns the block's words of
// scales; x is half a word but for Q5_1.
uvec2 store_block(uint format, bool is_v, uint head_quad, uint first, uint position, uint at) {
  const uint quads = KV_BLOCK / 4u;
  vec4 values[quads];
  for (uint i = 0; i < quads; ++i) {
    const vec4 own = load_qkv(head_quad + (first >> 2) + i);
    values[i] = is_v ? own : rotated(own, head_quad, first + 4u * i, push.k_row + position);
  }
  const BlockScale block = block_scale(format, values);
#if KV_BLOCKS > 1
  if (format != KV_FORMAT_Q8_0) {
    uint word = 0u, fifths = 0u;
    for (uint i = 0; i < quads; ++i) {
      const uvec4 codes = four_codes(format, values[i], block);
      word = (i & 1u) == 0u ? pack_nibbles(codes) : word | pack_nibbles(codes) << 16;
      if ((i & 1u) == 1u) store_word(is_v, at + i / 2u, word);
      fifths |= pack_fifths(codes) << (4u * i);
    }
    return format == KV_FORMAT_Q5_1 ? uvec2(block.scale | block.minimum << 16, fifths) : uvec2(block.scale, 0u);
  }
#endif
  for (uint i = 0; i < quads; ++i) store_word(is_v, at + i, pack_bytes(four_codes(format, values[i], block)));
  return uvec2(block.scale, 0u);
}

uint block_pairs() { return (push.head_dim + 2u * KV_BLOCK - 1u) / (2u * KV_BLOCK); }

// `index`: two neighbouring blocks, over the heads of K or V.
void store_blocks(uint format, bool is_v, uint index, uint row) {
  const uint head = index / block_pairs(), pair = index % block_pairs();
  const uint source = (is_v ? push.kv_heads : 0u) + head;
#if defined(LATENT)
  const uint head_quad = row * push.in_stride >> 2;
#else
  const uint head_quad = (row * push.in_stride + push.heads * push.q_step + source * push.head_dim) >> 2;
#endif
  const uint code_words = kv_code_words(format, push.head_dim), block_words = kv_code_words(format, KV_BLOCK);
  const uint cache = head * kv_head_words(format, push.slots, push.head_dim);
  const uint first = pair * 2u * KV_BLOCK, second = first + KV_BLOCK;
  const uint slot = row_slot(row), position = row_position(row), at = cache + slot * code_words + pair * 2u * block_words;
  const uint scales = cache + push.slots * code_words + slot * kv_scale_words(format, push.head_dim);
  const uvec2 a = store_block(format, is_v, head_quad, first, position, at);
  uvec2 b = uvec2(0u);
  if (second < push.head_dim) b = store_block(format, is_v, head_quad, second, position, at + block_words);
  if (format != KV_FORMAT_Q5_1) {
    store_word(is_v, scales + pair, a.x | b.x << 16);
    return;
  }
  store_word(is_v, scales + 4u * pair, a.x);
  store_word(is_v, scales + 4u * pair + 1u, a.y);
  if (second < push.head_dim) {
    store_word(is_v, scales + 4u * pair + 2u, b.x);
    store_word(is_v, scales + 4u * pair + 3u, b.y);
  }
}
#endif

#if defined(LATENT)
// `index`: over the quads of Q that rotate, then over the key: quads, in caches with blocks two blocks each.
void store(uint index, uint row) {
  const uint rotating = push.rope_dim / 4u, q_quads = push.heads * rotating;
  if (index < q_quads) {
    const uint head = index / rotating, d0 = push.head_dim - push.rope_dim + index % rotating * 4u;
    // Where the head would begin if it were as long as the key: they end alike.
    const uint head_quad = (row * push.in_stride + (head + 1u) * push.q_step) >> 2;
    const vec4 own = load_qkv(head_quad + (d0 >> 2));
    q_out[(row * push.q_stride + head * push.head_dim + d0) >> 2] = rotated(own, head_quad, d0, push.q_row + row_position(row));
    return;
  }
  const uint part = index - q_quads;
#if KV_BLOCKS > 0
  if (kv_has_blocks(K_FORMAT)) {
    if (part < block_pairs()) store_blocks(K_FORMAT, false, part, row);
    return;
  }
#endif
  if (part >= push.head_dim / 4u) return;
  const uint head_quad = row * push.in_stride >> 2;
  const vec4 value = rotated(load_qkv(head_quad + part), head_quad, part * 4u, push.k_row + row_position(row));
  store_quad(false, row_slot(row) * push.head_dim + part * 4u, value);
}
#else
// `index`: over Q heads, K heads, V heads: quads, in caches with blocks two blocks each.
void store(uint index, uint row) {
  const uint quads = push.head_dim / 4u, q_quads = push.heads * quads, kv_quads = push.kv_heads * quads;
#if KV_BLOCKS > 0
  const uint k_count = kv_has_blocks(K_FORMAT) ? push.kv_heads * block_pairs() : kv_quads;
  const uint v_count = kv_has_blocks(V_FORMAT) ? push.kv_heads * block_pairs() : kv_quads;
#else
  const uint k_count = kv_quads, v_count = kv_quads;
#endif
  if (index >= q_quads + k_count + v_count) return;
  const bool is_v = index >= q_quads + k_count;
  uint quad = index;
#if KV_BLOCKS > 0
  if (index >= q_quads && kv_has_blocks(is_v ? V_FORMAT : K_FORMAT)) {
    store_blocks(is_v ? V_FORMAT : K_FORMAT, is_v, index - q_quads - (is_v ? k_count : 0u), row);
    return;
  }
  if (kv_has_blocks(K_FORMAT) && is_v) quad += kv_quads - k_count;
#endif
  const uint source = quad / quads;
  const uint first = source < push.heads ? source * push.q_step : push.heads * push.q_step + (source - push.heads) * push.head_dim;
  const uint head_quad = (row * push.in_stride + first) >> 2, d0 = quad % quads * 4u;
  const vec4 own = load_qkv(head_quad + (d0 >> 2));
  const uint turn = (quad < q_quads ? push.q_row : push.k_row) + row_position(row);
  const vec4 value = is_v ? own : rotated(own, head_quad, d0, turn);
  if (quad < q_quads) {
    q_out[(row * push.q_stride >> 2) + quad] = value;
    return;
  }
  const uint head = (quad - q_quads) / quads - (is_v ? push.kv_heads : 0u);
  store_quad(is_v, (head * push.slots + row_slot(row)) * push.head_dim + d0, value);
}
#endif

void main() {
  const uint row = gl_WorkGroupID.y;
  if (row >= state.rows) return;
  for (uint i = 0; i < ROUNDS; ++i) store((gl_WorkGroupID.x * ROUNDS + i) * LANES + gl_LocalInvocationID.x, row);
}
