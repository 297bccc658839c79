// The state that a replayed pass reads: written by the host before a submission, read by kernels.
// Included by C++ and GLSL; macros only.
#ifndef SKIPSTONE_ABI_STEP_STATE_H
#define SKIPSTONE_ABI_STEP_STATE_H

#define STEP_MAX_ROWS 256      // rows of the largest (prefill) pass
#define STEP_VERIFY_ROWS 32    // rows of the largest pass under the numerics contract

// rows: rows that are real; the rest of the bucket is padding. attention_groups: arguments of the indirect attention dispatch (KV chunks,
// head groups, rows). kept: where row 0 goes in the saved hidden states. tokens[i]: the token of row i. sequences[i]: the sequence of row
// i; those of one sequence are adjacent, and a prompt's pass has one alone, number 0.
// Of each sequence: bases, the text position where its rows begin; first_rows, the first of them; tables, where its page table begins.
// Of token trees (lib/keys.glsl): depths[i] of row i; paths: the rows of its ancestors and itself, counted from its sequence's first, by
// depth, a byte each. For move_kv, depths are the rows that move. window: of passes that see a part of the text (KEYS_WINDOW), how many of
// its first positions and how many of the last ones.
// The page tables follow the structure: for each KV_PAGE positions of a text, the first of its places in the cache.
#define STEP_PATH_WORDS (STEP_VERIFY_ROWS / 4)

// Which keys a row attends to, and where they are: values of the constant KEYS of the attention kernels.
#define KEYS_TEXT 0u     // all up to its own
#define KEYS_TREE 1u     // those before the pass and those of its ancestors
#define KEYS_WINDOW 2u   // the text's first ones and the last ones up to its own

#define STEP_STATE(FIELD, ARRAY)      \
  FIELD(uint, rows)                   \
  ARRAY(uint, attention_groups, 3)    \
  FIELD(uint, kept)                   \
  ARRAY(uint, window, 2)              \
  ARRAY(uint, tokens, STEP_MAX_ROWS)  \
  ARRAY(uint, sequences, STEP_MAX_ROWS) \
  ARRAY(uint, bases, STEP_VERIFY_ROWS) \
  ARRAY(uint, first_rows, STEP_VERIFY_ROWS) \
  ARRAY(uint, tables, STEP_VERIFY_ROWS) \
  ARRAY(uint, depths, STEP_VERIFY_ROWS) \
  ARRAY(uint, paths, STEP_VERIFY_ROWS * STEP_PATH_WORDS)

// One row's result of the argmax kernels: token, un-tempered softmax probability of it, distance to the runner-up, its logit.
#define ROW_RESULT(FIELD)    \
  FIELD(uint, token)         \
  FIELD(float, probability)  \
  FIELD(float, margin)       \
  FIELD(float, logit)

#endif
