#version 450
#extension GL_GOOGLE_include_directive : require
// out[row][0..32*blocks) = the embedding of token state.tokens[row], dequantised. Workgroup (x, row): lanes take whole blocks.
// Tokens outside [first, first + count) belong to another part of a split table and are left alone. Padding rows repeat the last
// real token: the host writes valid tokens for all rows of a bucket.
#include "lib/stage.glsl"
#include "abi/embed.h"

EMBED_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { EMBED_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = EMBED_OUT) writeonly buffer Out { vec4 result[]; };
#define STEP_STATE_BINDING EMBED_STATE
#include "lib/step_state.glsl"

const uint SHARED_TABLE = 0;   // a workgroup reads little
#define WEIGHTS_BINDING EMBED_WEIGHTS
#define SCALES_BINDING EMBED_SCALES
#include "lib/quant.glsl"

void main() {
  const uint row = gl_WorkGroupID.y;
  const uint token = state.tokens[row];
  if (token < push.first || token - push.first >= push.count) return;
  const uint block = gl_GlobalInvocationID.x;
  if (block >= push.blocks) return;
  const Block raw = load_block(unit_of(token - push.first, block, push.blocks), block);
  [[unroll]] for (uint part = 0; part < 4; ++part) {
    vec4 a, b;
    expand(raw, part, a, b);
    const uint at = (row * push.stride >> 2) + block * 8u + part * 2u;
    result[at] = a * push.scale;
    result[at + 1u] = b * push.scale;
  }
}
