// Shared by both skinny matrix-vector kernels: the contract, the buffers, one step of the dot products, and the epilogue.
#include "abi/matvec.h"
#include "abi/argmax_merge.h"

MATVEC_SPEC(SK_CONSTANT)
#if defined(EXPERTS)
#include "abi/matvec_experts.h"
layout(push_constant) uniform Push { MATVEC_EXPERTS_PUSH(SK_FIELD) } push;
layout(std430, set = 0, binding = MATVEC_GROUPS) readonly buffer Groups { uint groups[]; };
// Columns are slots of one expert (lib/experts.glsl): its first row in the stack; how many columns there are; of each its slot, and where
// its row of x starts.
uint expert_row, columns;
uint slots[COLS], x_starts[COLS];
#define TILE gl_WorkGroupID.y
#define MATVEC_MAIN multiply
#define FIRST_COLUMN 0u
#define X_START(c) x_starts[c]
#else
#define TILE gl_WorkGroupID.x   // of the outputs of a column
#define MATVEC_MAIN main
#define FIRST_COLUMN (gl_WorkGroupID.y * COLS)
#if defined(HEADS)
#include "abi/matvec_heads.h"
layout(push_constant) uniform Push { MATVEC_HEADS_PUSH(SK_FIELD) } push;
#define X_START(c) ((first_column + c) * push.x_stride + push.x_first + gl_WorkGroupID.z * push.x_step >> 2)
#else
layout(push_constant) uniform Push { MATVEC_PUSH(SK_FIELD) } push;
#define X_START(c) ((first_column + c) * push.x_stride >> 2)
#endif
#endif

#if defined(USE_TEXELS)
layout(set = 0, binding = MATVEC_X) uniform usamplerBuffer x_texels;
vec4 load_x(uint quad) { return uintBitsToFloat(texelFetch(x_texels, int(quad))); }
layout(set = 0, binding = MATVEC_NORM) uniform usamplerBuffer norm_texels;
vec4 load_norm(uint quad) { return uintBitsToFloat(texelFetch(norm_texels, int(quad))); }
#else
layout(std430, set = 0, binding = MATVEC_X) readonly buffer X { vec4 x[]; };
vec4 load_x(uint quad) { return x[quad]; }
layout(std430, set = 0, binding = MATVEC_NORM) readonly buffer Norm { vec4 norm[]; };
vec4 load_norm(uint quad) { return norm[quad]; }
#endif
// The same buffer is declared twice: the type of the output depends on EPILOGUE.
struct Partial { ARGMAX_PARTIAL_FIELDS(SK_FIELD) };
layout(std430, set = 0, binding = MATVEC_Y) writeonly buffer Y { float y[]; };
layout(std430, set = 0, binding = MATVEC_Y) writeonly buffer Partials { Partial partials[]; };
layout(std430, set = 0, binding = MATVEC_BIAS) readonly buffer Bias { float bias[]; };
layout(std430, set = 0, binding = MATVEC_FACTORS) readonly buffer Factors { float factors[]; };
layout(std430, set = 0, binding = MATVEC_RESIDUAL) readonly buffer Residual { float residual[]; };

#define WEIGHTS_BINDING MATVEC_WEIGHTS
#define SCALES_BINDING MATVEC_SCALES
#include "lib/quant.glsl"
#include "lib/argmax.glsl"
#include "lib/activation.glsl"

const uint OUTPUTS = ROWS * COLS;
const bool PAIRS = EPILOGUE == MATVEC_SWIGLU || EPILOGUE == MATVEC_GEGLU;   // a lane's rows are ROWS / 2 of gate, then the same of up
const uint ROWS_OUT = PAIRS ? ROWS / 2u : ROWS;

// sum + <a, xa> + <b, xb> without the first product, in order.
float fma7(vec4 a, vec4 b, vec4 xa, vec4 xb, float sum) {
  precise float s = sum;
  s = fma(a.y, xa.y, s);
  s = fma(a.z, xa.z, s);
  s = fma(a.w, xa.w, s);
  s = fma(b.x, xb.x, s);
  s = fma(b.y, xb.y, s);
  s = fma(b.z, xb.z, s);
  s = fma(b.w, xb.w, s);
  return s;
}

// sum + <a, xa> + <b, xb> over 8 weights in order.
float fma8(vec4 a, vec4 b, vec4 xa, vec4 xb, float sum) {
  precise float first = fma(a.x, xa.x, sum);
  return fma7(a, b, xa, xb, first);
}

// <a, xa> + <b, xb> over 8 weights in order.
float dot8(vec4 a, vec4 b, vec4 xa, vec4 xb) {
  precise float first = a.x * xa.x;
  return fma7(a, b, xa, xb, first);
}

float squares4(vec4 v, float sum) {
  precise float s = sum;
  s = fma(v.x, v.x, s);
  s = fma(v.y, v.y, s);
  s = fma(v.z, v.z, s);
  s = fma(v.w, v.w, s);
  return s;
}

float norm_scale(float squares) {
  precise float scale = 1.0 / sqrt(squares / float(push.k) + push.epsilon);
  return scale;
}

// The matrix row of output row `row` of gate (PAIRS: or of up). Rows past the end repeat the last one; nothing of theirs is stored.
#if defined(EXPERTS)
uint matrix_row(uint row, bool up) { return expert_row + min(row, push.n - 1u); }
#elif defined(HEADS)
uint matrix_row(uint row, bool up) { return gl_WorkGroupID.z * push.n + min(row, push.n - 1u); }
#else
uint matrix_row(uint row, bool up) { return min(row, push.n - 1u) + (up ? push.n : 0u); }
#endif

// The product of output row `row` of gate (PAIRS: or of up) from its sum.
float product(uint row, bool up, float sum) {
  precise float result = sum;
  if (SCALED != 0u) result *= factors[push.row_first + matrix_row(row, up)];
  return result;
}

// The output of a sum, without a residual.
float finished(uint row, float value) {
  precise float result = PAIRS ? value : product(row, false, value);
#if defined(EXPERTS)
  if (ADD_BIAS != 0u && row < push.n) result += bias[push.row_first + expert_row + row];
#else
  if (ADD_BIAS != 0u && row < push.n) result += bias[push.y_first + row];
#endif
  result *= push.scale;
  if (EPILOGUE == MATVEC_STORE_CAPPED || EPILOGUE == MATVEC_ARGMAX_CAPPED) result = softcap(result, push.cap);
  if (EPILOGUE == MATVEC_GELU) result = gelu(result);
  return result;
}

float gated(uint row, float gate, float up) {
  const float left = product(row, false, gate);
  precise float result = (EPILOGUE == MATVEC_GEGLU ? gelu(left) : silu(left)) * product(row, true, up);
  return result;
}

void store(uint row, uint column, float value) {
#if defined(EXPERTS)
  if (column >= columns) return;
  column = slots[column];
#endif
  if (row >= push.n) return;
  precise float result = finished(row, value);
#if defined(HEADS)
  const uint at = column * push.y_stride + push.y_first + gl_WorkGroupID.z * push.y_step + row;
#else
  const uint at = column * push.y_stride + push.y_first + row;
#endif
  if (ADD_RESIDUAL != 0u) result += residual[at];
  y[at] = result;
}

// Where the partial of this workgroup's ROWS_OUT * row_lanes rows goes.
uint partial_at(uint column, uint row_lanes) {
  return column * push.y_stride + push.y_first / (ROWS_OUT * row_lanes) + TILE;
}
