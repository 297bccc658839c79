// What both skinny matrix-vector kernels share: the contract, the buffers, one step of the dot products, and the epilogue.
#include "abi/matvec.h"

MATVEC_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { MATVEC_PUSH(SK_FIELD) } push;

#if defined(USE_TEXELS)
layout(set = 0, binding = MATVEC_X) uniform usamplerBuffer x_texels;
vec4 load_x(uint quad) { return uintBitsToFloat(texelFetch(x_texels, int(quad))); }
#else
layout(std430, set = 0, binding = MATVEC_X) readonly buffer X { vec4 x[]; };
vec4 load_x(uint quad) { return x[quad]; }
#endif
layout(std430, set = 0, binding = MATVEC_Y) writeonly buffer Y { float y[]; };
layout(std430, set = 0, binding = MATVEC_BIAS) readonly buffer Bias { float bias[]; };
layout(std430, set = 0, binding = MATVEC_RESIDUAL) readonly buffer Residual { float residual[]; };

#define WEIGHTS_BINDING MATVEC_WEIGHTS
#define SCALES_BINDING MATVEC_SCALES
#include "lib/quant.glsl"

const uint OUTPUTS = ROWS * COLS;

// sum + <a, xa> + <b, xb> over 8 weights in order.
float fma8(vec4 a, vec4 b, vec4 xa, vec4 xb, float sum) {
  precise float s = sum;
  s = fma(a.x, xa.x, s);
  s = fma(a.y, xa.y, s);
  s = fma(a.z, xa.z, s);
  s = fma(a.w, xa.w, s);
  s = fma(b.x, xb.x, s);
  s = fma(b.y, xb.y, s);
  s = fma(b.z, xb.z, s);
  s = fma(b.w, xb.w, s);
  return s;
}

void store(uint row, uint column, float value) {
  if (row >= push.n) return;
  precise float result = value;
  if (ADD_BIAS != 0u) result += bias[push.y_first + row];
  const uint at = column * push.y_stride + push.y_first + row;
  if (ADD_RESIDUAL != 0u) result += residual[at];
  y[at] = result;
}
