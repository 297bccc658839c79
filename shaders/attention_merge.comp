#version 450
#extension GL_GOOGLE_include_directive : require
// Joins a row's attention chunks in index order: out[row][head] = sum_c a_c exp(m_c - m) / sum_c s_c exp(m_c - m), m = max m_c. With SINKS
// the head's sink is one more chunk, before the others, of one exponential and no value.
// Workgroup (head, row); lanes take dimensions. Padding rows are left alone.
#include "lib/stage.glsl"
#include "abi/kv_cache.h"
#include "abi/attention_merge.h"
#include "abi/attention.h"

ATTENTION_MERGE_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { ATTENTION_MERGE_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = ATTENTION_MERGE_PARTIAL) readonly buffer Partial { float partial[]; };
layout(std430, set = 0, binding = ATTENTION_MERGE_OUT) writeonly buffer Out { float result[]; };
layout(std430, set = 0, binding = ATTENTION_MERGE_SINKS) readonly buffer Sinks { float sinks[]; };
#define STEP_STATE_BINDING ATTENTION_MERGE_STATE
#include "lib/step_state.glsl"
#define SK_LAYER_WINDOW
#include "lib/keys.glsl"

void main() {
  const uint head = gl_WorkGroupID.x, row = gl_WorkGroupID.y;
  if (row >= state.rows) return;
  const uint chunks = (row_keys(row) - 1u) / CHUNK + 1u, begin = first_key(row) / CHUNK;
  const uint record = HEAD_DIM + ATTENTION_PARTIAL_EXTRA;
  const uint first = (row * push.heads + head) * push.max_chunks * record;

  float largest = partial[first + begin * record + HEAD_DIM];
  for (uint c = begin + 1u; c < chunks; ++c) largest = max(largest, partial[first + c * record + HEAD_DIM]);
  if (SINKS != 0u) largest = max(largest, sinks[head]);
  precise float total = SINKS != 0u ? exp(sinks[head] - largest) : 0.0;
  for (uint c = begin; c < chunks; ++c) {
    const uint at = first + c * record + HEAD_DIM;
    total = fma(partial[at + 1u], exp(partial[at] - largest), total);
  }
  for (uint d = gl_LocalInvocationID.x; d < HEAD_DIM; d += LANES) {
    precise float sum = 0.0;
    for (uint c = begin; c < chunks; ++c) {
      const uint at = first + c * record;
      sum = fma(partial[at + d], exp(partial[at + HEAD_DIM] - largest), sum);
    }
    result[row * push.out_stride + head * HEAD_DIM + d] = sum / total;
  }
}
