// Reads neighbouring dimensions of a cached K or V vector, given its KV head and place in the cache (slot): load_k, load_v four, and with
// texels load_k8, load_v8 eight. Define KV_FORMAT, HEAD_DIM, push.slots and the bindings KV_K and KV_V first. A quant times its scale is
// exact.
#include "lib/kv_blocks.glsl"

vec4 four_halves(uvec2 words) { return vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y)); }
vec4 four_quants(uint word) { return vec4(ivec4(word << 24, word << 16, word << 8, word) >> 24); }
// A block's scale out of the word that it shares with its neighbour.
float scale_of(uint word, uint block) {
  const vec2 scales = unpackHalf2x16(word);
  return (block & 1u) == 0u ? scales.x : scales.y;
}

uint quad_at(uint head, uint slot, uint quad) { return (head * push.slots + slot) * (HEAD_DIM / 4u) + quad; }
uint scale_word_at(uint head, uint slot, uint block) {
  return head * kv_head_words(push.slots, HEAD_DIM) + push.slots * (HEAD_DIM / 4u) + slot * kv_scale_words(HEAD_DIM) + block / 2u;
}

#if defined(USE_TEXELS)
// As texel buffers of 16-byte words: sixteen quants, eight halves or four floats each (why: lib/quant.glsl).
layout(set = 0, binding = KV_K) uniform usamplerBuffer k_texels;
layout(set = 0, binding = KV_V) uniform usamplerBuffer v_texels;

// The sixteen quants around dimension 16 * sixteenth. Written so that the fetches of one texel are seen to be the same.
uvec4 quants(usamplerBuffer cache, uint head, uint slot, uint sixteenth) {
  return texelFetch(cache, int(head * (kv_head_words(push.slots, HEAD_DIM) / 4u) + slot * (HEAD_DIM / 16u) + sixteenth));
}
float block_scale(usamplerBuffer cache, uint head, uint slot, uint block) {
  const uint word = scale_word_at(head, slot, block);
  return scale_of(texelFetch(cache, int(word >> 2))[word & 3u], block);
}

vec4 load_quad(usamplerBuffer cache, uint head, uint slot, uint quad) {
  if (KV_FORMAT == KV_FORMAT_Q8_0) return four_quants(quants(cache, head, slot, quad >> 2)[quad & 3u]) * block_scale(cache, head, slot, quad >> 3);
  const uint at = quad_at(head, slot, quad);
  if (KV_FORMAT == KV_FORMAT_F32) return uintBitsToFloat(texelFetch(cache, int(at)));
  const uvec4 words = texelFetch(cache, int(at >> 1));
  return four_halves((at & 1u) == 0u ? words.xy : words.zw);
}
void load_oct(usamplerBuffer cache, uint head, uint slot, uint oct, out vec4 a, out vec4 b) {
  const uint at = quad_at(head, slot, 0u) / 2u + oct;
  if (KV_FORMAT == KV_FORMAT_Q8_0) {
    const uvec4 words = quants(cache, head, slot, oct >> 1);
    const uvec2 own = (oct & 1u) == 0u ? words.xy : words.zw;
    const float scale = block_scale(cache, head, slot, oct >> 2);
    a = four_quants(own.x) * scale;
    b = four_quants(own.y) * scale;
  } else if (KV_FORMAT == KV_FORMAT_F16) {
    const uvec4 words = texelFetch(cache, int(at));
    a = four_halves(words.xy);
    b = four_halves(words.zw);
  } else {
    a = uintBitsToFloat(texelFetch(cache, int(at * 2u)));
    b = uintBitsToFloat(texelFetch(cache, int(at * 2u + 1u)));
  }
}
vec4 load_k(uint head, uint slot, uint quad) { return load_quad(k_texels, head, slot, quad); }
vec4 load_v(uint head, uint slot, uint quad) { return load_quad(v_texels, head, slot, quad); }
void load_k8(uint head, uint slot, uint oct, out vec4 a, out vec4 b) { load_oct(k_texels, head, slot, oct, a, b); }
void load_v8(uint head, uint slot, uint oct, out vec4 a, out vec4 b) { load_oct(v_texels, head, slot, oct, a, b); }
#else
// The same buffer is declared three times because floats, halves and quants want loads of their own sizes. A word of quants is reached as a
// component of sixteen bytes, which tells compilers that neighbouring ones may be loaded at once.
#define KV_BUFFER(BINDING, BLOCK, NAME)                                                                      \
  layout(std430, set = 0, binding = BINDING) readonly buffer BLOCK##Floats { vec4 NAME##_floats[]; };        \
  layout(std430, set = 0, binding = BINDING) readonly buffer BLOCK##Halves { uvec2 NAME##_halves[]; };       \
  layout(std430, set = 0, binding = BINDING) readonly buffer BLOCK##Words { uvec4 NAME##_words[]; };         \
  uint NAME##_word(uint at) { return NAME##_words[at >> 2][at & 3u]; }                                       \
  vec4 load_##NAME(uint head, uint slot, uint quad) {                                                         \
    if (KV_FORMAT == KV_FORMAT_Q8_0) {                                                                       \
      const uint block = quad >> 3;                                                                          \
      return four_quants(NAME##_word(quant_word_at(head, slot, quad))) * scale_of(NAME##_word(scale_word_at(head, slot, block)), block); \
    }                                                                                                        \
    const uint at = quad_at(head, slot, quad);                                                                \
    return KV_FORMAT == KV_FORMAT_F16 ? four_halves(NAME##_halves[at]) : NAME##_floats[at];                  \
  }

uint quant_word_at(uint head, uint slot, uint quad) { return head * kv_head_words(push.slots, HEAD_DIM) + slot * (HEAD_DIM / 4u) + quad; }

KV_BUFFER(KV_K, K, k)
KV_BUFFER(KV_V, V, v)
#endif

float fma4(vec4 a, vec4 b, float sum) {
  precise float s = sum;
  s = fma(a.x, b.x, s);
  s = fma(a.y, b.y, s);
  s = fma(a.z, b.z, s);
  s = fma(a.w, b.w, s);
  return s;
}
