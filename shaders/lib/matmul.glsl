// Shared by the tiled kernels: buffers, the way of a block of 32 products through registers into shared memory, and the epilogue.
// Define TILE_QUADS (vectors of four per staged row) first. With HALF_PRECISION the tiles are halves and x is the output of half_rows.comp;
// else everything is float. y, bias and residual are floats, weights are in the device's layout of their format.
layout(push_constant) uniform Push { MATVEC_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = MATVEC_X) readonly buffer X { uvec4 x[]; };
layout(std430, set = 0, binding = MATVEC_Y) writeonly buffer Y { float y[]; };
layout(std430, set = 0, binding = MATVEC_BIAS) readonly buffer Bias { float bias[]; };
layout(std430, set = 0, binding = MATVEC_FACTORS) readonly buffer Factors { float factors[]; };
layout(std430, set = 0, binding = MATVEC_RESIDUAL) readonly buffer Residual { float residual[]; };

#define WEIGHTS_BINDING MATVEC_WEIGHTS
#define SCALES_BINDING MATVEC_SCALES
#include "lib/quant.glsl"

#if defined(HALF_PRECISION)
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define QUAD f16vec4
const uint X_WORDS = 4;   // 16-byte words of a block
#else
#define QUAD vec4
const uint X_WORDS = 8;
#endif

shared QUAD tile_w[TILE_N * TILE_QUADS];
shared QUAD tile_x[TILE_M * TILE_QUADS];

// A lane's part of the next block, loaded while the products of this one are made.
const uint W_ITEMS = (TILE_N + LANES - 1u) / LANES, X_ITEMS = (TILE_M * X_WORDS + LANES - 1u) / LANES;
Block next_w[W_ITEMS];
uvec4 next_x[X_ITEMS];

// Columns past the real ones are padding in x and y; rows past the end repeat the last one, and nothing of theirs is stored.
void fetch(uint first_row, uint first_column, uint block) {
  [[unroll]] for (uint i = 0; i < W_ITEMS; ++i) {
    const uint n = gl_LocalInvocationID.x + i * LANES;
    if (n < TILE_N) next_w[i] = load_block(unit_of(min(first_row + n, push.n - 1u), block, push.blocks), block);
  }
  [[unroll]] for (uint i = 0; i < X_ITEMS; ++i) {
    const uint item = gl_LocalInvocationID.x + i * LANES, m = item / X_WORDS;
    if (m < TILE_M) next_x[i] = x[((first_column + m) * push.x_stride >> 2) + block * X_WORDS + item % X_WORDS];
  }
}

void stage() {
  [[unroll]] for (uint i = 0; i < W_ITEMS; ++i) {
    const uint n = gl_LocalInvocationID.x + i * LANES;
    if (n < TILE_N) {
      [[unroll]] for (uint part = 0; part < 4; ++part) {
        vec4 a, b;
        expand(next_w[i], part, a, b);
        tile_w[n * TILE_QUADS + part * 2u] = QUAD(a);
        tile_w[n * TILE_QUADS + part * 2u + 1u] = QUAD(b);
      }
    }
  }
  [[unroll]] for (uint i = 0; i < X_ITEMS; ++i) {
    const uint item = gl_LocalInvocationID.x + i * LANES, m = item / X_WORDS, word = item % X_WORDS;
    if (m < TILE_M) {
#if defined(HALF_PRECISION)
      tile_x[m * TILE_QUADS + word * 2u] = f16vec4(unpackFloat2x16(next_x[i].x), unpackFloat2x16(next_x[i].y));
      tile_x[m * TILE_QUADS + word * 2u + 1u] = f16vec4(unpackFloat2x16(next_x[i].z), unpackFloat2x16(next_x[i].w));
#else
      tile_x[m * TILE_QUADS + word] = uintBitsToFloat(next_x[i]);
#endif
    }
  }
}

// The factor of a column's sums: a power of two.
float column_scale(uint column) {
#if defined(HALF_PRECISION)
  return uintBitsToFloat(x[(column * push.x_stride >> 2) + push.blocks * X_WORDS].x);
#else
  return 1.0;
#endif
}

void store(uint row, uint column, float value) {
  if (row >= push.n) return;
  precise float result = value;
  if (SCALED != 0u) result *= factors[push.row_first + row];
  if (ADD_BIAS != 0u) result += bias[push.y_first + row];
  result *= push.scale;
  const uint at = column * push.y_stride + push.y_first + row;
  if (ADD_RESIDUAL != 0u) result += residual[at];
  y[at] = result;
}
