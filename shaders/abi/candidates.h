// The tokens of a row that sampling has to look at, and bounds and sums of all others: kernels candidate_groups and candidates.
// Included by C++ and GLSL; macros only.
#ifndef SKIPSTONE_ABI_CANDIDATES_H
#define SKIPSTONE_ABI_CANDIDATES_H
#define CANDIDATE_GROUPS 1024u   // a row's tokens t by t % CANDIDATE_GROUPS: group g has g, g + CANDIDATE_GROUPS, ...
#define CANDIDATE_SLOTS 256      // candidates of a row; with noise, one half of them are the likeliest, the other those that noise favours
#define CANDIDATE_LISTED 128     // tokens whose logits the host requests by index

// Written by the host for each row. noise: 0, or 1 where candidates by logit * inverse_temperature + Gumbel noise are wanted too; tempered:
// 0, or 1 where the sum at that temperature is. seed, position: key and counter of the noise. tokens: those listed.
#define CANDIDATE_REQUEST(FIELD, ARRAY) \
  FIELD(uint, noise)                    \
  FIELD(uint, tempered)                 \
  FIELD(float, inverse_temperature)     \
  FIELD(uint, listed)                   \
  ARRAY(uint, seed, 2)                  \
  ARRAY(uint, position, 2)              \
  ARRAY(uint, tokens, CANDIDATE_LISTED)

// Of a group: keys (lib/candidates.glsl) of its largest logit and of its largest score with noise, 0 where it has no number; sums of
// exp(logit - largest), of logits as they are and tempered.
#define CANDIDATE_GROUP(FIELD) FIELD(uint, largest) FIELD(uint, noisiest) FIELD(float, sum) FIELD(float, tempered)

// Read by the host for each row. likely, noisy: how many candidates of each kind there are; more than there are slots for: none is to be
// used. Every token that is not among the likely ones has a logit below likely_bound, every one not among the noisy ones a score below
// noisy_bound. rest: sum of exp(logit - largest logit) over tokens that are not among the likely ones; tempered: the same at the
// temperature.
#define CANDIDATE_RESULT(FIELD, ARRAY)  \
  FIELD(uint, likely)                   \
  FIELD(uint, noisy)                    \
  FIELD(float, likely_bound)            \
  FIELD(float, noisy_bound)             \
  FIELD(float, rest)                    \
  FIELD(float, tempered)                \
  ARRAY(float, listed, CANDIDATE_LISTED) \
  ARRAY(uint, tokens, CANDIDATE_SLOTS)  \
  ARRAY(float, logits, CANDIDATE_SLOTS)

#define CANDIDATE_GROUPS_BUFFERS 3
#define CANDIDATE_GROUPS_LOGITS 0
#define CANDIDATE_GROUPS_REQUEST 1
#define CANDIDATE_GROUPS_OUT 2
// LANES / PARTS groups of a workgroup, PARTS lanes each.
#define CANDIDATE_GROUPS_SPEC(CONSTANT) CONSTANT(0, LANES, 32) CONSTANT(1, PARTS, 4)
#define CANDIDATE_GROUPS_PUSH(FIELD) FIELD(uint, n) FIELD(uint, stride)

#define CANDIDATES_BUFFERS 4
#define CANDIDATES_LOGITS 0
#define CANDIDATES_REQUEST 1
#define CANDIDATES_GROUPS 2
#define CANDIDATES_RESULT 3
#define CANDIDATES_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
#define CANDIDATES_PUSH(FIELD) FIELD(uint, n) FIELD(uint, stride)
#endif
