#version 450
#extension GL_GOOGLE_include_directive : require
// A gated short convolution (LFM2, arXiv 2511.23404). A row of `inputs` is B, C and x; B * x is its record, which is stored at its position.
// out = C * (sum over the last KERNEL positions of tap * record): each channel has KERNEL taps, that of the oldest position first. In
// a tree the positions are those of the row's ancestors. Positions before the text's first one count as 0.
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

float record_of(uint row, uint channel) {
  const uint at = row * push.in_stride + channel;
  precise float product = inputs[at] * inputs[at + 2u * push.channels];
  return product;
}

float record_at(uint row, uint position, uint channel) {
  uint at;
  if (find_record(row, position, at)) return record_of(at, channel);
  return records[at * push.channels + channel];
}

void convolve(uint channel, uint row) {
  if (channel >= push.channels) return;
  const float own = record_of(row, channel);
  records[row_slot(row) * push.channels + channel] = own;
  const uint position = row_position(row), first = channel * KERNEL;
  precise float sum = 0.0;
  for (uint back = min(KERNEL - 1u, position); back > 0u; --back) {
    sum = fma(taps[first + KERNEL - 1u - back], record_at(row, position - back, channel), sum);
  }
  sum = fma(taps[first + KERNEL - 1u], own, sum);
  precise float gated = inputs[row * push.in_stride + push.channels + channel] * sum;
  outputs[row * push.out_stride + channel] = gated;
}

void main() {
  const uint row = gl_WorkGroupID.y;
  if (row >= state.rows) return;
  for (uint i = 0; i < ROUNDS; ++i) convolve((gl_WorkGroupID.x * ROUNDS + i) * LANES + gl_LocalInvocationID.x, row);
}
