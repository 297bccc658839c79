#version 450
#extension GL_GOOGLE_include_directive : require
// The input of a head for multi-token prediction (arXiv 2412.19437, section 2.2): out[row] = [RMS norm of the row's embedding, RMS norm of
// the hidden state of the position before it], whose records are stored. In a tree the position before a row is its parent's. The text's
// first row has none, and gets zeros. One workgroup per row; padding rows are left alone.
#include "lib/stage.glsl"
#include "abi/prediction_input.h"

PREDICTION_INPUT_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { PREDICTION_INPUT_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = PREDICTION_INPUT_EMBEDDINGS) readonly buffer Embeddings { float embeddings[]; };
layout(std430, set = 0, binding = PREDICTION_INPUT_RECORDS) readonly buffer Records { float records[]; };
layout(std430, set = 0, binding = PREDICTION_INPUT_EMBEDDING_NORM) readonly buffer EmbeddingNorm { float embedding_norm[]; };
layout(std430, set = 0, binding = PREDICTION_INPUT_HIDDEN_NORM) readonly buffer HiddenNorm { float hidden_norm[]; };
layout(std430, set = 0, binding = PREDICTION_INPUT_OUT) writeonly buffer Out { float result[]; };
#define STEP_STATE_BINDING PREDICTION_INPUT_STATE
#include "lib/step_state.glsl"
#define SK_PAGES
#include "lib/keys.glsl"
#include "lib/reduce.glsl"

void main() {
  const uint row = gl_WorkGroupID.x, lane = gl_LocalInvocationID.x;
  if (row >= state.rows) return;
  const uint position = row_position(row);
  const bool follows = position > 0u;
  const uint from = row * push.in_stride, to = row * push.out_stride;
  const uint before = follows ? key_slot(row, position - 1u) * push.width : 0u;
  precise float embedding_squares = 0.0, hidden_squares = 0.0;
  for (uint i = lane; i < push.n; i += LANES) {
    const float e = embeddings[from + i], h = follows ? records[before + i] : 0.0;
    embedding_squares = fma(e, e, embedding_squares);
    hidden_squares = fma(h, h, hidden_squares);
  }
  precise float embedding_scale = 1.0 / sqrt(workgroup_sum(embedding_squares) / float(push.n) + push.epsilon);
  precise float hidden_scale = 1.0 / sqrt(workgroup_sum(hidden_squares) / float(push.n) + push.epsilon);
  for (uint i = lane; i < push.n; i += LANES) {
    precise float e = embeddings[from + i] * embedding_scale, h = (follows ? records[before + i] : 0.0) * hidden_scale;
    result[to + i] = e * embedding_norm[i];
    result[to + push.n + i] = h * hidden_norm[i];
  }
}
