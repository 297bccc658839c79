#version 450
#extension GL_GOOGLE_include_directive : require
// A gated short convolution (LFM2, arXiv 2511.23404). A row of `inputs` is B, C and x; B * x is its record, which is stored at its
// position. out = C * (sum over the last KERNEL positions of tap * record): each channel has KERNEL taps, that of the oldest position
// first. In a tree the positions are those of the row's ancestors. Positions before the text's first one count as 0.
// Invocation: x = channel, y = row. Padding rows store nothing.
#include "lib/stage.glsl"
#include "abi/short_conv.h"

SHORT_CONV_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { SHORT_CONV_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = SHORT_CONV_IN) readonly buffer In { float inputs[]; };
layout(std430, set = 0, binding = SHORT_CONV_TAPS) readonly buffer Taps { float taps[]; };
layout(std430, set = 0, binding = SHORT_CONV_OUT) writeonly buffer Out { float outputs[]; };
layout(std430, set = 0, binding = SHORT_CONV_RECORDS) buffer Records { float records[]; };
#define STEP_STATE_BINDING SHORT_CONV_STATE
#include "lib/step_state.glsl"
#define SK_PAGES
#include "lib/keys.glsl"
#include "lib/records.glsl"
#include "lib/taps.glsl"

// A row that begins at `first`.
float record_of(uint first, uint channel) {
  precise float product = inputs[first + channel] * inputs[first + channel + 2u * push.channels];
  return product;
}

void main() {
  const uint row = gl_WorkGroupID.y;
  if (row >= state.rows) return;
  const uint earlier = find_taps(row, row_position(row), 1u, 0u, push.in_stride, push.channels);
  const uint first = row * push.in_stride, target = row_slot(row) * push.channels;
  for (uint i = 0; i < ROUNDS; ++i) {
    const uint channel = (gl_WorkGroupID.x * ROUNDS + i) * LANES + gl_LocalInvocationID.x;
    if (channel >= push.channels) return;
    const uint tap = channel * KERNEL + KERNEL - 1u;   // of the row itself
    const float own = record_of(first, channel);
    records[target + channel] = own;
    precise float sum = 0.0;
    for (uint back = earlier; back > 0u; --back) {
      const float record = (own_rows >> back & 1u) != 0u ? record_of(places[back], channel) : records[places[back] + channel];
      sum = fma(taps[tap - back], record, sum);
    }
    sum = fma(taps[tap], own, sum);
    precise float gated = inputs[first + push.channels + channel] * sum;
    outputs[row * push.out_stride + channel] = gated;
  }
}
