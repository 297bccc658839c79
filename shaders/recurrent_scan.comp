#version 450
#extension GL_GOOGLE_include_directive : require
// The recurrence of gated delta nets (Yang et al., arXiv 2412.06464) and of Mamba-2 (Dao and Gu, arXiv 2405.21060). A head has a state S of
// KEY_DIM rows and VALUE_DIM columns; k, q (B, C of Mamba-2) and v (x) are numbers of a row's record after a causal convolution and SiLU.
//   delta:   S *= decay; S += k (x) (beta * (v - S^T k)); out = S^T q; k and q are L2-normalised, q divided by sqrt(KEY_DIM).
//   Mamba-2: S *= decay; S += k (x) (dt * v); out = S^T q + skip * v.
// The columns of S do not depend on each other: a workgroup (columns, head, sequence) has COLUMNS of them and walks its sequence's rows in
// order. The stored state is that of an earlier position: the rows after it are recomputed from their records, by the same code as the rows
// of the pass. In a tree a row begins where its parent left the state if that is the row before, else at the state before the pass. The
// state before the pass (of prompts: after it) is written to another slot than it was read from, so that a pass can run twice.
#include "lib/stage.glsl"
#include "abi/recurrent_scan.h"

RECURRENT_SCAN_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { RECURRENT_SCAN_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = RECURRENT_SCAN_IN) readonly buffer In { float inputs[]; };
layout(std430, set = 0, binding = RECURRENT_SCAN_RECORDS) buffer Records { float records[]; };
layout(std430, set = 0, binding = RECURRENT_SCAN_STATES) buffer States { vec4 states[]; };
layout(std430, set = 0, binding = RECURRENT_SCAN_TAPS) readonly buffer Taps { float taps[]; };
layout(std430, set = 0, binding = RECURRENT_SCAN_TAPS_BIAS) readonly buffer TapsBias { float taps_bias[]; };
layout(std430, set = 0, binding = RECURRENT_SCAN_DT_BIAS) readonly buffer DtBias { float dt_bias[]; };
layout(std430, set = 0, binding = RECURRENT_SCAN_DECAY_RATE) readonly buffer DecayRate { float decay_rate[]; };
layout(std430, set = 0, binding = RECURRENT_SCAN_SKIP) readonly buffer Skip { float skip[]; };
layout(std430, set = 0, binding = RECURRENT_SCAN_OUT) writeonly buffer Out { float outputs[]; };
#define STEP_STATE_BINDING RECURRENT_SCAN_STATE
#include "lib/step_state.glsl"
#define SK_PAGES
#include "lib/keys.glsl"
#include "lib/records.glsl"
#include "lib/taps.glsl"
#include "lib/activation.glsl"
#include "lib/reduce.glsl"

const uint QUADS = KEY_DIM / 4u, SIZE = QUADS * COLUMNS;
const uint OWN = (COLUMNS + LANES - 1u) / LANES;   // columns of a lane, LANES apart
// Columns of S, four rows at a time, and in trees as they were before the pass.
shared vec4 now[SIZE];
shared vec4 before[KEYS == KEYS_TREE ? SIZE : 1u];
shared vec4 keys[QUADS];
shared vec4 queries[QUADS];

uint lane, head, first_column;
uint farthest;   // tap of the row's convolutions

uint state_at(uint slot, uint quad, uint column) { return slot * (push.slot / 4u) + (head * QUADS + quad) * VALUE_DIM + column; }

void load_state(uint slot) {
  for (uint i = lane; i < SIZE; i += LANES) {
    const uint column = first_column + i % COLUMNS;
    now[i] = slot == SCAN_NONE || column >= VALUE_DIM ? vec4(0.0) : states[state_at(slot, i / COLUMNS, column)];
  }
}

void store_state(uint slot) {
  if (slot == SCAN_NONE) return;
  for (uint i = lane; i < SIZE; i += LANES) {
    const uint column = first_column + i % COLUMNS;
    if (column < VALUE_DIM) states[state_at(slot, i / COLUMNS, column)] = now[i];
  }
}

float number_at(uint back, uint index) { return (own_rows >> back & 1u) != 0u ? inputs[places[back] + index] : records[places[back] + index]; }

float convolved(uint channel) {
  const uint tap = channel * KERNEL + KERNEL - 1u;
  precise float sum = RULE == SCAN_MAMBA ? taps_bias[channel] : 0.0;
  for (uint back = farthest + 1u; back-- > 0u;) sum = fma(taps[tap - back], number_at(back, channel), sum);
  return silu(sum);
}

// ln(1 + e^x). Of a small e^x the series, since 1 + e^x has few of its digits.
float softplus(float x) {
  precise float small = exp(-abs(x));
  precise float rest = small < 1e-3 ? small * (1.0 - 0.5 * small) : log(1.0 + small);
  precise float sum = max(x, 0.0) + rest;
  return sum;
}

float sigmoid(float x) {
  precise float result = 1.0 / (1.0 + exp(-x));
  return result;
}

float sum4(vec4 v) {
  precise float low = v.x + v.y;
  precise float high = v.z + v.w;
  precise float sum = low + high;
  return sum;
}

void normalise_keys(float squares_k, float squares_q) {
  precise float scale_k = 1.0 / sqrt(workgroup_sum(squares_k) + 1e-6);
  precise float scale_q = 1.0 / sqrt(workgroup_sum(squares_q) + 1e-6) / sqrt(float(KEY_DIM));
  for (uint c = lane; c < KEY_DIM; c += LANES) {
    precise float k = keys[c / 4u][c % 4u] * scale_k;
    precise float q = queries[c / 4u][c % 4u] * scale_q;
    keys[c / 4u][c % 4u] = k;
    queries[c / 4u][c % 4u] = q;
  }
}

// Whether the lane has a column of this number.
bool is_column(uint c) { return lane + c * LANES < COLUMNS && first_column + lane + c * LANES < VALUE_DIM; }

// The step of the row at `position` on the path of `row`. `emits`: it is `row` itself, and its output is wanted.
void advance(uint row, uint position, bool emits) {
  farthest = find_taps(row, position, 0u, push.record_first, push.in_stride, push.record);
  const uint key_head = push.key_group == 0u ? head % push.key_heads : head / push.key_group;
  precise float squares_k = 0.0, squares_q = 0.0;
  barrier();   // keys and queries are those of the step before until all lanes have read them
  for (uint c = lane; c < KEY_DIM; c += LANES) {
    const float k = convolved(push.k + key_head * KEY_DIM + c), q = emits ? convolved(push.q + key_head * KEY_DIM + c) : 0.0;
    keys[c / 4u][c % 4u] = k;
    queries[c / 4u][c % 4u] = q;
    squares_k = fma(k, k, squares_k);
    squares_q = fma(q, q, squares_q);
  }
  if (RULE == SCAN_DELTA) normalise_keys(squares_k, squares_q);
  barrier();
  const float dt = softplus(number_at(0u, push.rates + (RULE == SCAN_DELTA ? push.heads : 0u) + head) + dt_bias[head]);
  const float factor = RULE == SCAN_DELTA ? sigmoid(number_at(0u, push.rates + head)) : dt;
  precise float decay = exp(decay_rate[head] * dt);
  const uint channel = head * VALUE_DIM + first_column + lane;   // of the lane's first column
  float v[OWN], change[OWN];
  precise vec4 sums[OWN];
  [[unroll]] for (uint c = 0; c < OWN; ++c) {
    v[c] = is_column(c) ? convolved(push.v + channel + c * LANES) : 0.0;
    precise float product = factor * v[c];
    change[c] = product;
    sums[c] = vec4(0.0);
  }
  if (RULE == SCAN_DELTA) {
    for (uint i = 0; i < QUADS; ++i) {
      const vec4 k = keys[i];
      [[unroll]] for (uint c = 0; c < OWN; ++c) {
        precise vec4 decayed = decay * now[min(i * COLUMNS + lane + c * LANES, SIZE - 1u)];
        sums[c] = fma(k, decayed, sums[c]);
      }
    }
    [[unroll]] for (uint c = 0; c < OWN; ++c) {
      precise float missing = factor * (v[c] - sum4(sums[c]));
      change[c] = missing;
      sums[c] = vec4(0.0);
    }
  }
  for (uint i = 0; i < QUADS; ++i) {
    const vec4 k = keys[i], q = queries[i];
    [[unroll]] for (uint c = 0; c < OWN; ++c) {
      if (lane + c * LANES >= COLUMNS) continue;
      const uint at = i * COLUMNS + lane + c * LANES;
      precise vec4 decayed = decay * now[at];
      const vec4 s = fma(k, vec4(change[c]), decayed);
      now[at] = s;
      sums[c] = fma(q, s, sums[c]);
    }
  }
  if (!emits) return;
  [[unroll]] for (uint c = 0; c < OWN; ++c) {
    if (!is_column(c)) continue;
    precise float result = sum4(sums[c]);
    if (RULE == SCAN_MAMBA) result = fma(skip[head], v[c], result);
    outputs[row * push.out_stride + channel + c * LANES] = result;
  }
}

// The records of the rows, of which each workgroup of a sequence stores a share.
void store_records(uint begin, uint end) {
  const uint groups = gl_NumWorkGroups.x * gl_NumWorkGroups.y, own = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  for (uint row = begin; row < end; ++row) {
    const uint from = row * push.in_stride + push.record_first, to = row_slot(row) * push.record;
    for (uint i = own * LANES + lane; i < push.record; i += groups * LANES) records[to + i] = inputs[from + i];
  }
}

void main() {
  lane = gl_LocalInvocationID.x;
  head = gl_WorkGroupID.y;
  first_column = gl_WorkGroupID.x * COLUMNS;
  const uint sequence = gl_WorkGroupID.z;
  uint row = 0u, end = state.rows;
  if (EXTENT != SCAN_PROMPT) {
    while (row < state.rows && state.sequences[row] != sequence) ++row;
    if (row == state.rows) return;
    for (end = row; end < state.rows && state.sequences[end] == sequence;) ++end;
  }
  const uint scan = push.scans + SCAN_WORDS * sequence, target = state.pages[scan + SCAN_TARGET], base = state.bases[sequence];
  if (EXTENT != SCAN_ADVANCE) store_records(row, end);
  if (EXTENT == SCAN_STORE && target == SCAN_NONE) return;
  load_state(state.pages[scan + SCAN_SOURCE]);
  barrier();
  bool begun = EXTENT == SCAN_PROMPT;
  for (uint position = state.pages[scan + SCAN_POSITION]; row < end;) {
    if (!begun && position == base) {
      begun = true;
      barrier();
      if (EXTENT != SCAN_DRAFT) store_state(target);
      if (EXTENT == SCAN_ADVANCE || EXTENT == SCAN_STORE) break;
      if (KEYS == KEYS_TREE) for (uint i = lane; i < SIZE; i += LANES) before[i] = now[i];
      barrier();
    }
    const bool emits = EXTENT != SCAN_ADVANCE && position == row_position(row);
    advance(row, position, emits);
    ++position;
    if (!emits) continue;
    ++row;
    if (KEYS != KEYS_TREE || row == end) continue;
    const uint depth = state.depths[row];
    if (depth > 0u && state.first_rows[sequence] + ancestor(row, depth - 1u) == row - 1u) continue;
    barrier();
    for (uint i = lane; i < SIZE; i += LANES) now[i] = before[i];
    position = base;
    barrier();
  }
  if (EXTENT != SCAN_PROMPT) return;
  barrier();
  store_state(target);
}
