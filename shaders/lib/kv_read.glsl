// Reads four neighbouring dimensions of a cached K or V vector; define KV_F16 and the bindings KV_K and KV_V first.
#if defined(USE_TEXELS)
// As texel buffers of 16-byte words: eight halves or four floats each (why: lib/quant.glsl).
layout(set = 0, binding = KV_K) uniform usamplerBuffer k_texels;
layout(set = 0, binding = KV_V) uniform usamplerBuffer v_texels;

vec4 four_of(uvec4 words, uint quad) {
  if (KV_F16 == 0u) return uintBitsToFloat(words);
  const uvec2 halves = (quad & 1u) == 0u ? words.xy : words.zw;
  return vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y));
}
// Eight neighbouring dimensions.
void eight_of(uvec4 first, uvec4 second, out vec4 a, out vec4 b) {
  a = KV_F16 != 0u ? vec4(unpackHalf2x16(first.x), unpackHalf2x16(first.y)) : uintBitsToFloat(first);
  b = KV_F16 != 0u ? vec4(unpackHalf2x16(first.z), unpackHalf2x16(first.w)) : uintBitsToFloat(second);
}
void load_k8(uint oct, out vec4 a, out vec4 b) {
  if (KV_F16 != 0u) {
    const uvec4 words = texelFetch(k_texels, int(oct));
    eight_of(words, words, a, b);
  } else {
    eight_of(texelFetch(k_texels, int(oct * 2u)), texelFetch(k_texels, int(oct * 2u + 1u)), a, b);
  }
}
void load_v8(uint oct, out vec4 a, out vec4 b) {
  if (KV_F16 != 0u) {
    const uvec4 words = texelFetch(v_texels, int(oct));
    eight_of(words, words, a, b);
  } else {
    eight_of(texelFetch(v_texels, int(oct * 2u)), texelFetch(v_texels, int(oct * 2u + 1u)), a, b);
  }
}
vec4 load_k(uint quad) { return four_of(texelFetch(k_texels, int(KV_F16 != 0u ? quad >> 1 : quad)), quad); }
vec4 load_v(uint quad) { return four_of(texelFetch(v_texels, int(KV_F16 != 0u ? quad >> 1 : quad)), quad); }
#else
// The same buffer is declared twice because 16-byte (float) and 8-byte (half) loads want their own element types.
layout(std430, set = 0, binding = KV_K) readonly buffer KHalves { uvec2 k_halves[]; };
layout(std430, set = 0, binding = KV_K) readonly buffer KFloats { vec4 k_floats[]; };
layout(std430, set = 0, binding = KV_V) readonly buffer VHalves { uvec2 v_halves[]; };
layout(std430, set = 0, binding = KV_V) readonly buffer VFloats { vec4 v_floats[]; };

vec4 four_halves(uvec2 words) { return vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y)); }
vec4 load_k(uint quad) { return KV_F16 != 0u ? four_halves(k_halves[quad]) : k_floats[quad]; }
vec4 load_v(uint quad) { return KV_F16 != 0u ? four_halves(v_halves[quad]) : v_floats[quad]; }
#endif

float fma4(vec4 a, vec4 b, float sum) {
  precise float s = sum;
  s = fma(a.x, b.x, s);
  s = fma(a.y, b.y, s);
  s = fma(a.z, b.z, s);
  s = fma(a.w, b.w, s);
  return s;
}
