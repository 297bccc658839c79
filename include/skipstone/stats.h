/* The part of Skipstone's C API that says how a generation went: times, drafts, what was skipped and chosen. Included by skipstone.h. */
#ifndef SKIPSTONE_STATS_H
#define SKIPSTONE_STATS_H

#include "skipstone/skipstone.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct skipstone_stats {
  size_t struct_size;       /* set by the caller: sizeof(skipstone_stats) */
  int32_t stop_reason;      /* skipstone_stop_reason */
  uint32_t draft_positions; /* for skipstone_session_draft_position() */
  uint64_t prompt_tokens, generated_tokens;
  uint64_t rounds, drafted, accepted;
  uint32_t skipped_sublayers, sublayers;
  double prompt_seconds, generation_seconds; /* generation = draft + verify + round + host */
  double draft_seconds, verify_seconds, host_seconds;
  double device_seconds;  /* of draft, verify and round: waiting for the device; the rest of the generation is the host's own work */
  double round_seconds;   /* of rounds that were one submission */
  uint64_t device_rounds; /* how many of the rounds were */
  /* Of a lossy drafter ("sequential"), else 0: tokens that it made, the layers that ran for them together, how many left early because some
   * token was likely enough, because the guess was, and not at all; and guesses given up early. */
  uint64_t early_tokens, early_layers, early_confident, early_guessed, early_full, guesses_rejected;
  int32_t lossy; /* 1: the text need not be plain decoding's */
  /* The corpus that drafts are looked up in; 0 where there is none: its tokens, the memory of its index, the time to make it. */
  uint64_t corpus_tokens, corpus_bytes;
  double corpus_seconds;
  uint32_t drafter_shares; /* for skipstone_session_drafter_share() */
  /* How often a drafter's cosines were measured anew during the generation ("asd:refresh=N"), how often it skipped other sublayers
   * afterwards, and what of draft_seconds that took. */
  uint64_t refreshes, refreshed_sets;
  double refresh_seconds;
  uint32_t strategies; /* for skipstone_session_strategy() */
} skipstone_stats;

/* Of the last generation. */
skipstone_status skipstone_session_get_stats(const skipstone_session* session, skipstone_stats* stats);

/* The share of the last continuation's tokens that the whole model chooses at their places, given the tokens before them: what a lossy
 * drafter costs. Runs the model over the conversation again. SKIPSTONE_INVALID_ARGUMENT where nothing was generated. */
skipstone_status skipstone_session_agreement(skipstone_session* session, double* share);

/* How often a draft at `position` (0: the first of a round) was made and accepted. */
skipstone_status skipstone_session_draft_position(const skipstone_session* session, uint32_t position, uint64_t* drafted,
                                                  uint64_t* accepted);

/* Of the rounds of a generation, those that one drafter of "A+B" proposed. `name`: "" for rounds in which none did; it lives until the
 * session's next call. */
typedef struct skipstone_drafter_share {
  const char* name;
  uint64_t rounds, drafted, accepted;
} skipstone_drafter_share;

/* Of the last generation; the drafters in the order of their first proposals. SKIPSTONE_INVALID_ARGUMENT past the end. */
skipstone_status skipstone_session_drafter_share(const skipstone_session* session, uint32_t index, skipstone_drafter_share* share);

/* Where a drafter has its candidates from several sources ("ngram": "context", "bigram", "unigram"), one of them. A round is won by the
 * candidate that most was accepted of, the first among equals. `by_rank`: rounds won, by the winner's place among the source's candidates
 * (0: its first); `by_length`: rounds won, by the tokens accepted of the winner (index 0: one token). All live until the session's next
 * call. */
typedef struct skipstone_strategy {
  const char* name;
  uint64_t rows; /* candidates proposed */
  const uint64_t* by_rank;
  const uint64_t* by_length;
  size_t ranks, lengths; /* how many of each there are */
} skipstone_strategy;

/* Of the last generation. SKIPSTONE_INVALID_ARGUMENT past the end. */
skipstone_status skipstone_session_strategy(const skipstone_session* session, uint32_t index, skipstone_strategy* strategy);

/* The drafter's name, and its skip set ("attn:3,5-7;mlp:9", layers counted from 0; "" for none) in the last generation. */
const char* skipstone_session_drafter(const skipstone_session* session);
const char* skipstone_session_skip_set(const skipstone_session* session);

/* What a drafter that chooses among others ("auto") chose in the last generation, and what it expects of each, as a sentence; else "". */
const char* skipstone_session_explanation(const skipstone_session* session);

/* Mean cosine of the residual stream before and after each attention sublayer over the last prompt, layer by layer; `count` is 0
 * where the drafter does not measure it. */
const float* skipstone_session_attention_cosine(const skipstone_session* session, size_t* count);

/* The probability below which a draft was its round's last, round by round of the last generation; `count` is 0 where the drafter runs no
 * passes. */
const float* skipstone_session_thresholds(const skipstone_session* session, size_t* count);

#ifdef __cplusplus
}
#endif

#endif
