#version 450
#extension GL_GOOGLE_include_directive : require
// Of each group of a row's logits: the largest, the largest with noise, and sums of exponentials. Invocation (group, part of it; row).
// PARTS lanes share a group; neighbouring lanes read neighbouring tokens.
#include "lib/stage.glsl"
#include "abi/candidates.h"

CANDIDATE_GROUPS_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { CANDIDATE_GROUPS_PUSH(SK_FIELD) } push;

struct CandidateRequest { CANDIDATE_REQUEST(SK_FIELD, SK_ARRAY) };
struct CandidateGroup { CANDIDATE_GROUP(SK_FIELD) };
layout(std430, set = 0, binding = CANDIDATE_GROUPS_LOGITS) readonly buffer Logits { float logits[]; };
layout(std430, set = 0, binding = CANDIDATE_GROUPS_REQUEST) readonly buffer Requests { CandidateRequest requests[]; };
layout(std430, set = 0, binding = CANDIDATE_GROUPS_OUT) writeonly buffer Out { CandidateGroup result[]; };
#define request requests[gl_WorkGroupID.y]
#include "lib/candidates.glsl"

const uint WIDTH = LANES / PARTS;   // groups of a workgroup
shared uint largest[LANES];
shared uint noisiest[LANES];
shared float sums[LANES];
shared float tempered[LANES];

void main() {
  const uint lane = gl_LocalInvocationID.x, place = lane % WIDTH, row = gl_WorkGroupID.y;
  const uint group = gl_WorkGroupID.x * WIDTH + place, first = group + lane / WIDTH * CANDIDATE_GROUPS, from = row * push.stride;
  const bool noise = request.noise != 0u, with_tempered = request.tempered != 0u;
  uint most = 0, noisy = 0;
  for (uint token = first; token < push.n; token += PARTS * CANDIDATE_GROUPS) {
    const float logit = logits[from + token];
    most = max(most, key_of(logit));
    if (noise) noisy = max(noisy, noisy_key(logit, token));
  }
  largest[lane] = most;
  noisiest[lane] = noisy;
  barrier();
  for (uint part = 0; part < PARTS; ++part) {
    most = max(most, largest[place + part * WIDTH]);
    noisy = max(noisy, noisiest[place + part * WIDTH]);
  }
  const float reference = number_of(most);
  precise float sum = 0.0, tempered_sum = 0.0;
  for (uint token = first; token < push.n; token += PARTS * CANDIDATE_GROUPS) {
    const float logit = logits[from + token];
    sum += weight_of(logit, reference, 1.0);
    if (with_tempered) tempered_sum += weight_of(logit, reference, request.inverse_temperature);
  }
  sums[lane] = sum;
  tempered[lane] = tempered_sum;
  barrier();
  if (lane >= WIDTH) return;
  for (uint part = 1; part < PARTS; ++part) {
    sum += sums[place + part * WIDTH];
    tempered_sum += tempered[place + part * WIDTH];
  }
  result[row * CANDIDATE_GROUPS + group] = CandidateGroup(most, noisy, sum, tempered_sum);
}
