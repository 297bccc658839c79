#version 450
#extension GL_GOOGLE_include_directive : require
// The end of a round: how many leading drafts equal the tokens that the verification chose. One lane works.
#include "lib/stage.glsl"
#include "abi/accept.h"
#include "abi/step_state.h"
#include "abi/round.h"

ACCEPT_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { ACCEPT_PUSH(SK_FIELD) } push;

struct RowResult { ROW_RESULT(SK_FIELD) };
layout(std430, set = 0, binding = ACCEPT_RESULT) readonly buffer Results { RowResult results[]; };
layout(std430, set = 0, binding = ACCEPT_ROUND) readonly buffer Round { ROUND_STATE(SK_FIELD, SK_ARRAY) } round_state;
layout(std430, set = 0, binding = ACCEPT_DRAFTS) readonly buffer Drafts { RowResult drafts[]; };
layout(std430, set = 0, binding = ACCEPT_ROUND_RESULT) writeonly buffer RoundResult { ROUND_RESULT(SK_FIELD, SK_ARRAY) } round_result;

void main() {
  if (gl_LocalInvocationID.x != 0u) return;
  const uint drafted = min(round_state.drafted, push.rows - 1u);
  uint accepted = 0;
  while (accepted < drafted && drafts[accepted].token == results[accepted].token) ++accepted;
  round_result.accepted = accepted;
}
