#version 450
#extension GL_GOOGLE_include_directive : require
// The candidates of a row: all tokens at least as likely as a threshold, chosen by how many groups' largest tokens reach it, so that the
// candidates are slightly fewer than the slots. Tokens that cannot be among them are read once, by candidate_groups. One workgroup for each
// row. Which slot a candidate gets is left to chance; all else is the same in every run.
#include "lib/stage.glsl"
#include "abi/candidates.h"

CANDIDATES_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { CANDIDATES_PUSH(SK_FIELD) } push;

struct CandidateRequest { CANDIDATE_REQUEST(SK_FIELD, SK_ARRAY) };
struct CandidateGroup { CANDIDATE_GROUP(SK_FIELD) };
struct CandidateResult { CANDIDATE_RESULT(SK_FIELD, SK_ARRAY) };
layout(std430, set = 0, binding = CANDIDATES_LOGITS) readonly buffer Logits { float logits[]; };
layout(std430, set = 0, binding = CANDIDATES_REQUEST) readonly buffer Requests { CandidateRequest requests[]; };
layout(std430, set = 0, binding = CANDIDATES_GROUPS) readonly buffer Groups { CandidateGroup groups[]; };
layout(std430, set = 0, binding = CANDIDATES_RESULT) writeonly buffer Results { CandidateResult results[]; };
#define request requests[gl_WorkGroupID.x]
#include "lib/candidates.glsl"
#include "lib/reduce.glsl"

shared uint keys[CANDIDATE_GROUPS];     // of the groups' largest
shared uint chosen[CANDIDATE_GROUPS];   // groups that have candidates
shared uint chosen_of_lane[LANES];
shared uint counter;

const uint PER_LANE = (CANDIDATE_GROUPS + LANES - 1u) / LANES;   // groups, side by side
uint row, lane, from;   // from: where the row's logits begin

// The largest key that the keys of `wanted` groups reach, bit by bit from the highest; 0 where fewer groups have numbers.
uint threshold_of(uint wanted) {
  uint threshold = 0u;
  for (uint bit = 0x80000000u; bit != 0u; bit >>= 1) {
    const uint higher = threshold | bit;
    if (lane == 0u) counter = 0u;
    barrier();
    uint reach = 0u;
    for (uint i = lane; i < CANDIDATE_GROUPS; i += LANES) reach += keys[i] >= higher ? 1u : 0u;
    if (reach > 0u) atomicAdd(counter, reach);
    barrier();
    if (counter >= wanted) threshold = higher;
    barrier();
  }
  return threshold;
}

// Lists the groups that reach `threshold` in order; how many there are.
uint choose_groups(uint threshold) {
  const uint end = min((lane + 1u) * PER_LANE, CANDIDATE_GROUPS);
  uint mine = 0u;
  for (uint i = lane * PER_LANE; i < end; ++i) mine += keys[i] >= threshold ? 1u : 0u;
  chosen_of_lane[lane] = mine;
  barrier();
  uint before = 0u, all = 0u;
  for (uint i = 0; i < LANES; ++i) {
    before += i < lane ? chosen_of_lane[i] : 0u;
    all += chosen_of_lane[i];
  }
  for (uint i = lane * PER_LANE; i < end; ++i) {
    if (keys[i] >= threshold) chosen[before++] = i;
  }
  if (lane == 0u) counter = 0u;
  barrier();
  return all;
}

uint token_of(uint i, uint chosen_groups) { return chosen[i % chosen_groups] + i / chosen_groups * CANDIDATE_GROUPS; }

void keep(uint token, float logit, uint first_slot, uint slots) {
  const uint slot = atomicAdd(counter, 1u);
  if (slot >= slots) return;
  results[row].tokens[first_slot + slot] = token;
  results[row].logits[first_slot + slot] = logit;
}

// Candidates by logit, and the sums over all other tokens.
void likeliest(uint slots) {
  const float largest = number_of(threshold_of(1u));
  const uint threshold = max(threshold_of(slots * 11u / 16u), 1u), groups_of_row = choose_groups(threshold);
  precise float rest = 0.0, tempered = 0.0;
  for (uint i = lane; i < CANDIDATE_GROUPS; i += LANES) {
    if (keys[i] >= threshold || keys[i] <= LOWEST_KEY) continue;
    const CandidateGroup group = groups[row * CANDIDATE_GROUPS + i];
    const float below = number_of(keys[i]) - largest;
    rest += group.sum * exp(below);
    if (request.tempered != 0u) tempered += group.tempered * exp(below * request.inverse_temperature);
  }
  const uint all = groups_of_row * ((push.n + CANDIDATE_GROUPS - 1u) / CANDIDATE_GROUPS);
  for (uint i = lane; i < all; i += LANES) {
    const uint token = token_of(i, groups_of_row);
    if (token >= push.n) continue;
    const float logit = logits[from + token];
    if (key_of(logit) >= threshold) {
      keep(token, logit, 0u, slots);
    } else {
      rest += weight_of(logit, largest, 1.0);
      if (request.tempered != 0u) tempered += weight_of(logit, largest, request.inverse_temperature);
    }
  }
  rest = workgroup_sum(rest);
  tempered = workgroup_sum(tempered);
  if (lane != 0u) return;
  results[row].likely = counter;
  results[row].likely_bound = number_of(max(threshold, LOWEST_KEY));
  results[row].rest = rest;
  results[row].tempered = tempered;
}

void noisiest(uint slots) {
  const uint threshold = max(threshold_of(slots * 11u / 16u), 1u), groups_of_row = choose_groups(threshold);
  const uint all = groups_of_row * ((push.n + CANDIDATE_GROUPS - 1u) / CANDIDATE_GROUPS);
  for (uint i = lane; i < all; i += LANES) {
    const uint token = token_of(i, groups_of_row);
    if (token >= push.n) continue;
    const float logit = logits[from + token];
    if (noisy_key(logit, token) >= threshold) keep(token, logit, slots, slots);
  }
  barrier();
  if (lane != 0u) return;
  results[row].noisy = counter;
  results[row].noisy_bound = number_of(max(threshold, LOWEST_KEY));
}

void main() {
  row = gl_WorkGroupID.x;
  lane = gl_LocalInvocationID.x;
  from = row * push.stride;
  const bool noise = request.noise != 0u;
  const uint slots = noise ? CANDIDATE_SLOTS / 2 : CANDIDATE_SLOTS;
  for (uint i = lane; i < CANDIDATE_GROUPS; i += LANES) keys[i] = groups[row * CANDIDATE_GROUPS + i].largest;
  for (uint i = lane; i < request.listed; i += LANES) results[row].listed[i] = logits[from + request.tokens[i]];
  barrier();
  likeliest(slots);
  if (!noise) {
    if (lane == 0u) results[row].noisy = 0u;
    return;
  }
  barrier();
  for (uint i = lane; i < CANDIDATE_GROUPS; i += LANES) keys[i] = groups[row * CANDIDATE_GROUPS + i].noisiest;
  barrier();
  noisiest(slots);
}
