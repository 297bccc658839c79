#version 450
#extension GL_GOOGLE_include_directive : require
// Between two passes of a round: takes the draft that the pass before chose, decides whether to continue, and sets the state of the next
// pass: one more draft, the row that no draft has read, or the verification. The host does the same where it steps a round itself
// (src/speculation/loop.cpp). One lane works: a round has at most STEP_VERIFY_ROWS tokens.
#include "lib/stage.glsl"
#include "abi/advance.h"
#include "abi/step_state.h"
#include "abi/round.h"

ADVANCE_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { ADVANCE_PUSH(SK_FIELD) } push;

struct RowResult { ROW_RESULT(SK_FIELD) };
layout(std430, set = 0, binding = ADVANCE_RESULT) readonly buffer Results { RowResult results[]; };
layout(std430, set = 0, binding = ADVANCE_STATE) buffer State { STEP_STATE(SK_FIELD, SK_ARRAY) } state;
layout(std430, set = 0, binding = ADVANCE_ROUND) buffer Round { ROUND_STATE(SK_FIELD, SK_ARRAY) } round_state;
layout(std430, set = 0, binding = ADVANCE_ROUND_RESULT) writeonly buffer RoundResult { ROUND_RESULT(SK_FIELD, SK_ARRAY) } round_result;
layout(std430, set = 0, binding = ADVANCE_DRAFTS) writeonly buffer Drafts { RowResult drafts[]; };

const uint NO_TOKEN = 0xffffffffu;   // argmax found no number

// Floats from 0 to infinity are ordered as their bits are; NaN and negative numbers come after all of them and are unsure.
bool sure(float probability) {
  const uint bits = floatBitsToUint(probability);
  return bits >= floatBitsToUint(round_state.least_probability) && bits <= 0x7f800000u;
}

void take_draft() {
  if (round_state.conditions[ROUND_DRAFTING] == 0u) return;   // a pass that a device without conditions ran for nothing
  const RowResult draft = results[0];
  bool go_on = false;
  if (draft.token != NO_TOKEN) {
    const uint drafted = round_state.drafted + 1u;
    drafts[drafted - 1u] = draft;
    round_state.tokens[drafted] = draft.token;
    round_state.drafted = drafted;
    go_on = drafted < round_state.most && sure(draft.probability);
  }
  if (!go_on) round_state.conditions[ROUND_DRAFTING] = 0u;
}

void place(uint base, uint rows, uint kept, uint condition) {
  state.bases[0] = base;
  state.rows = rows;
  state.kept = kept;
  state.attention_groups[0] = (base + rows - 1u) / push.chunk + 1u;
  state.attention_groups[1] = round_state.attention_groups[condition];
  state.attention_groups[2] = rows;
}

void main() {
  if (gl_LocalInvocationID.x != 0u) return;
  if (push.draft != 0u) take_draft();
  const uint drafted = round_state.drafted;
  if (push.draft != 0u && (round_state.conditions[ROUND_DRAFTING] != 0u || push.keeps != 0u)) {
    place(round_state.base + drafted, 1u, drafted, ROUND_DRAFTING);
    state.tokens[0] = round_state.tokens[drafted];
    return;
  }
  // Rounds without a draft are rare: they take the verification of two rows.
  const uint verification = drafted == 0u ? 2u : 2u + uint(findMSB(drafted));
  place(round_state.base, drafted + 1u, 0u, verification);
  // Padding rows embed the last token once more, as where the host writes the state.
  for (uint row = 0; row < STEP_VERIFY_ROWS; ++row) state.tokens[row] = round_state.tokens[min(row, drafted)];
  round_state.conditions[verification] = 1u;
  round_result.drafted = drafted;
}
