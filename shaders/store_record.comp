#version 450
#extension GL_GOOGLE_include_directive : require
// Every real row becomes the record of its text position. Invocation: x = float of the row, y = row.
#include "lib/stage.glsl"
#include "abi/store_record.h"

STORE_RECORD_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { STORE_RECORD_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = STORE_RECORD_IN) readonly buffer In { float rows_in[]; };
layout(std430, set = 0, binding = STORE_RECORD_RECORDS) writeonly buffer Records { float records[]; };
#define STEP_STATE_BINDING STORE_RECORD_STATE
#include "lib/step_state.glsl"
const uint KEYS = KEYS_TEXT;   // where a row stores is not where it sees keys
#define SK_PAGES
#include "lib/keys.glsl"

void main() {
  const uint i = gl_GlobalInvocationID.x, row = gl_WorkGroupID.y;
  if (i >= push.n || row >= state.rows) return;
  records[row_slot(row) * push.width + i] = rows_in[row * push.stride + i];
}
