// Reads neighbouring dimensions of a cached K or V vector, given its KV head and place in the cache (slot): load_k, load_v four, and with
// texels load_k8, load_v8 eight. Define K_FORMAT, V_FORMAT, HEAD_DIM, push.slots and the bindings KV_K and KV_V first. A code times its
// scale is exact.
#include "lib/kv_blocks.glsl"

vec4 four_halves(uvec2 words) { return vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y)); }
uint quad_at(uint head, uint slot, uint quad) { return (head * push.slots + slot) * (HEAD_DIM / 4u) + quad; }

#if KV_BLOCKS > 0
vec4 four_bytes(uint word) { return vec4(ivec4(word << 24, word << 16, word << 8, word) >> 24); }
#if KV_BLOCKS > 1
uvec4 four_nibbles(uint bits) { return uvec4(bits, bits >> 4, bits >> 8, bits >> 12) & 15u; }
vec4 q4_0_values(uint nibbles, float scale) { return (vec4(four_nibbles(nibbles)) - 8.0) * scale; }
// scale: with the minimum beside it. fifths: the fifth bits of the four codes, in the lowest place.
vec4 q5_1_values(uint nibbles, uint fifths, vec2 scale) {
  const uvec4 codes = four_nibbles(nibbles) | ((uvec4(fifths, fifths >> 1, fifths >> 2, fifths >> 3) & 1u) << 4);
  return vec4(codes) * scale.x + scale.y;
}
#endif
// A block's scale out of the word that it shares with its neighbour.
float scale_of(uint word, uint block) {
  const vec2 scales = unpackHalf2x16(word);
  return (block & 1u) == 0u ? scales.x : scales.y;
}
// The first word of scales of a vector.
uint scales_at(uint format, uint head, uint slot) {
  return head * kv_head_words(format, push.slots, HEAD_DIM) + push.slots * kv_code_words(format, HEAD_DIM) +
         slot * kv_scale_words(format, HEAD_DIM);
}
#endif

#if defined(USE_TEXELS)
// As texel buffers of 16-byte words: 32 nibbles, sixteen bytes, eight halves or four floats each (why: lib/quant.glsl).
layout(set = 0, binding = KV_K) uniform usamplerBuffer k_texels;
layout(set = 0, binding = KV_V) uniform usamplerBuffer v_texels;

#if KV_BLOCKS > 0
// A vector's texel of codes. Written so that the fetches of one texel are seen to be the same.
uvec4 codes_at(usamplerBuffer cache, uint format, uint head, uint slot, uint texel) {
  const uint head_texels = kv_head_words(format, push.slots, HEAD_DIM) / 4u, texels = kv_code_words(format, HEAD_DIM) / 4u;
  return texelFetch(cache, int(head * head_texels + slot * texels + texel));
}
float block_scale(usamplerBuffer cache, uint format, uint head, uint slot, uint block) {
  const uint word = scales_at(format, head, slot) + block / 2u;
  return scale_of(texelFetch(cache, int(word >> 2))[word & 3u], block);
}
#if KV_BLOCKS > 1
// The two words of a block of Q5_1.
uvec2 q5_1_scale(usamplerBuffer cache, uint head, uint slot, uint block) {
  const uint word = scales_at(KV_FORMAT_Q5_1, head, slot) + block * 2u;
  const uvec4 words = texelFetch(cache, int(word >> 2));
  return (word & 2u) == 0u ? words.xy : words.zw;
}
#endif

vec4 load_block_quad(usamplerBuffer cache, uint format, uint head, uint slot, uint quad) {
#if KV_BLOCKS > 1
  if (format != KV_FORMAT_Q8_0) {
    const uint nibbles = codes_at(cache, format, head, slot, quad >> 3)[(quad >> 1) & 3u] >> (16u * (quad & 1u));
    if (format == KV_FORMAT_Q4_0) return q4_0_values(nibbles, block_scale(cache, format, head, slot, quad >> 3));
    const uvec2 scale = q5_1_scale(cache, head, slot, quad >> 3);
    return q5_1_values(nibbles, scale.y >> (4u * (quad & 7u)), unpackHalf2x16(scale.x));
  }
#endif
  return four_bytes(codes_at(cache, format, head, slot, quad >> 2)[quad & 3u]) * block_scale(cache, format, head, slot, quad >> 3);
}
void load_block_oct(usamplerBuffer cache, uint format, uint head, uint slot, uint oct, out vec4 a, out vec4 b) {
#if KV_BLOCKS > 1
  if (format != KV_FORMAT_Q8_0) {
    const uint nibbles = codes_at(cache, format, head, slot, oct >> 2)[oct & 3u];
    if (format == KV_FORMAT_Q4_0) {
      const float scale = block_scale(cache, format, head, slot, oct >> 2);
      a = q4_0_values(nibbles, scale);
      b = q4_0_values(nibbles >> 16, scale);
      return;
    }
    const uvec2 words = q5_1_scale(cache, head, slot, oct >> 2);
    const uint fifths = words.y >> (8u * (oct & 3u));
    const vec2 scale = unpackHalf2x16(words.x);
    a = q5_1_values(nibbles, fifths, scale);
    b = q5_1_values(nibbles >> 16, fifths >> 4, scale);
    return;
  }
#endif
  const uvec4 words = codes_at(cache, format, head, slot, oct >> 1);
  const uvec2 own = (oct & 1u) == 0u ? words.xy : words.zw;
  const float scale = block_scale(cache, format, head, slot, oct >> 2);
  a = four_bytes(own.x) * scale;
  b = four_bytes(own.y) * scale;
}
#endif

vec4 load_quad(usamplerBuffer cache, uint format, uint head, uint slot, uint quad) {
#if KV_BLOCKS > 0
  if (kv_has_blocks(format)) return load_block_quad(cache, format, head, slot, quad);
#endif
  const uint at = quad_at(head, slot, quad);
  if (format == KV_FORMAT_F32) return uintBitsToFloat(texelFetch(cache, int(at)));
  const uvec4 words = texelFetch(cache, int(at >> 1));
  return four_halves((at & 1u) == 0u ? words.xy : words.zw);
}
void load_oct(usamplerBuffer cache, uint format, uint head, uint slot, uint oct, out vec4 a, out vec4 b) {
#if KV_BLOCKS > 0
  if (kv_has_blocks(format)) {
    load_block_oct(cache, format, head, slot, oct, a, b);
    return;
  }
#endif
  const uint at = quad_at(head, slot, 0u) / 2u + oct;
  if (format == KV_FORMAT_F16) {
    const uvec4 words = texelFetch(cache, int(at));
    a = four_halves(words.xy);
    b = four_halves(words.zw);
  } else {
    a = uintBitsToFloat(texelFetch(cache, int(at * 2u)));
    b = uintBitsToFloat(texelFetch(cache, int(at * 2u + 1u)));
  }
}
vec4 load_k(uint head, uint slot, uint quad) { return load_quad(k_texels, K_FORMAT, head, slot, quad); }
vec4 load_v(uint head, uint slot, uint quad) { return load_quad(v_texels, V_FORMAT, head, slot, quad); }
void load_k8(uint head, uint slot, uint oct, out vec4 a, out vec4 b) { load_oct(k_texels, K_FORMAT, head, slot, oct, a, b); }
void load_v8(uint head, uint slot, uint oct, out vec4 a, out vec4 b) { load_oct(v_texels, V_FORMAT, head, slot, oct, a, b); }
#else
// The same buffer is declared three times because floats, halves and codes want loads of their own sizes. A word of codes is reached as a
// component of sixteen bytes, which tells compilers that neighbouring ones may be loaded at once.
#if KV_BLOCKS > 0
uint code_word_at(uint format, uint head, uint slot, uint word) {
  return head * kv_head_words(format, push.slots, HEAD_DIM) + slot * kv_code_words(format, HEAD_DIM) + word;
}
#if KV_BLOCKS > 1
#define KV_LOAD_NIBBLES(NAME)                                                                                 \
    if (format != KV_FORMAT_Q8_0) {                                                                           \
      const uint nibbles = NAME##_word(code_word_at(format, head, slot, quad >> 1)) >> (16u * (quad & 1u));   \
      if (format == KV_FORMAT_Q4_0) return q4_0_values(nibbles, scale_of(NAME##_word(scales + block / 2u), block)); \
      const uint fifths = NAME##_word(scales + 2u * block + 1u) >> (4u * (quad & 7u));                        \
      return q5_1_values(nibbles, fifths, unpackHalf2x16(NAME##_word(scales + 2u * block)));                  \
    }
#else
#define KV_LOAD_NIBBLES(NAME)
#endif
#define KV_BLOCK_READER(BINDING, BLOCK, NAME)                                                                 \
  layout(std430, set = 0, binding = BINDING) readonly buffer BLOCK##Words { uvec4 NAME##_words[]; };          \
  uint NAME##_word(uint at) { return NAME##_words[at >> 2][at & 3u]; }                                        \
  vec4 load_##NAME##_block(uint format, uint head, uint slot, uint quad) {                                    \
    const uint block = quad >> 3, scales = scales_at(format, head, slot);                                     \
    KV_LOAD_NIBBLES(NAME)                                                                                     \
    return four_bytes(NAME##_word(code_word_at(format, head, slot, quad))) * scale_of(NAME##_word(scales + block / 2u), block); \
  }
#define KV_LOAD_BLOCK(NAME, FORMAT) if (kv_has_blocks(FORMAT)) return load_##NAME##_block(FORMAT, head, slot, quad);
#else
#define KV_BLOCK_READER(BINDING, BLOCK, NAME)
#define KV_LOAD_BLOCK(NAME, FORMAT)
#endif
#define KV_BUFFER(BINDING, BLOCK, NAME, FORMAT)                                                               \
  layout(std430, set = 0, binding = BINDING) readonly buffer BLOCK##Floats { vec4 NAME##_floats[]; };         \
  layout(std430, set = 0, binding = BINDING) readonly buffer BLOCK##Halves { uvec2 NAME##_halves[]; };        \
  KV_BLOCK_READER(BINDING, BLOCK, NAME)                                                                       \
  vec4 load_##NAME(uint head, uint slot, uint quad) {                                                         \
    KV_LOAD_BLOCK(NAME, FORMAT)                                                                               \
    const uint at = quad_at(head, slot, quad);                                                                \
    return FORMAT == KV_FORMAT_F16 ? four_halves(NAME##_halves[at]) : NAME##_floats[at];                      \
  }

KV_BUFFER(KV_K, K, k, K_FORMAT)
KV_BUFFER(KV_V, V, v, V_FORMAT)
#endif

float fma4(vec4 a, vec4 b, float sum) {
  precise float s = sum;
  s = fma(a.x, b.x, s);
  s = fma(a.y, b.y, s);
  s = fma(a.z, b.z, s);
  s = fma(a.w, b.w, s);
  return s;
}
