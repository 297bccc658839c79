/* The part of Skipstone's C API that continues text: drafters, sessions, statistics. Included by skipstone.h. */
#ifndef SKIPSTONE_SESSION_H
#define SKIPSTONE_SESSION_H

#include "skipstone/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- drafters ----------------------------------------------------------------------------------------------------------- */

/* Whether a drafter's specification names a file, which is read. */
typedef enum skipstone_names_file {
  SKIPSTONE_NAMES_NO_FILE = 0,
  SKIPSTONE_MAY_NAME_FILE = 1,
  SKIPSTONE_MUST_NAME_FILE = 2
} skipstone_names_file;

/* A way of drafting. `options`: its "key=value,..." with the defaults. */
typedef struct skipstone_drafter_info {
  size_t struct_size; /* set by the caller: sizeof(skipstone_drafter_info) */
  const char* name;
  const char* summary;
  const char* options;
  int32_t lossless;
  int32_t file; /* skipstone_names_file */
} skipstone_drafter_info;

SKIPSTONE_API size_t skipstone_drafter_count(void);

/* Whether all drafters of a specification, as skipstone_session_params.draft has it, are lossless; 0 also for names that do not exist. */
SKIPSTONE_API int skipstone_draft_is_lossless(const char* draft);

/* SKIPSTONE_INVALID_ARGUMENT past the end. The strings live as long as the library. */
SKIPSTONE_API skipstone_status skipstone_drafter_get_info(size_t index, skipstone_drafter_info* info);

/* ---- session: a conversation -------------------------------------------------------------------------------------------- */

typedef struct skipstone_session skipstone_session;

/* Whether host or device steps a round of drafts and their verification. The text is the same; only greedy decoding has a choice. */
typedef enum skipstone_rounds {
  SKIPSTONE_ROUNDS_AUTOMATIC = 0, /* a session times some rounds of each kind and continues with the faster */
  SKIPSTONE_ROUNDS_HOST = 1,      /* the host, pass by pass */
  SKIPSTONE_ROUNDS_DEVICE = 2     /* the device: drafts, verification and acceptance are one submission */
} skipstone_rounds;

/* How drafts are verified when sampling. Greedy decoding knows no difference. */
typedef enum skipstone_verification {
  SKIPSTONE_VERIFY_COUPLED = 0,  /* same seed, same text as plain decoding */
  SKIPSTONE_VERIFY_REJECTION = 1 /* same distribution as plain decoding, another text (Leviathan et al. 2023) */
} skipstone_verification;

/* The token that follows `tokens`, all `count` of the conversation so far, given their logits, one for each token of the vocabulary. It has
 * to depend on these alone (and what does not change): it is called for rows after drafts too, more than once and in any order, and then
 * the text is the same whatever the drafter. A token outside the vocabulary, such as -1, ends the generation with
 * SKIPSTONE_INVALID_ARGUMENT. */
typedef skipstone_token (*skipstone_sampler_fn)(const float* logits, size_t vocabulary, const skipstone_token* tokens, size_t count,
                                                void* sampler_data);

/* What is added to a token's logit. */
typedef struct skipstone_token_bias {
  skipstone_token token;
  float bias; /* -100 to 100 */
} skipstone_token_bias;

typedef struct skipstone_session_params {
  size_t struct_size;
  float temperature;    /* 0: greedy */
  uint32_t top_k;       /* 0: off */
  float top_p;          /* 1: off */
  float min_p;          /* 0: off */
  float repeat_penalty; /* 1: off */
  uint32_t repeat_last; /* how many of the latest tokens the penalty looks at */
  uint64_t seed;
  /* "NAME[:value][,key=value,...]" of a drafter; "none" for plain decoding; "A+B": A, and B where A has nothing good. A '+' in a value
   * separates only where the name of a drafter and then ':', '+' or the end follow; "\+" never does. At most 1024 bytes and 8 members, of
   * which no two are written alike; at most 16 in the list of "auto:". */
  const char* draft;
  int32_t rounds; /* skipstone_rounds */
  int32_t verify; /* skipstone_verification */
  /* Text files that drafters which look drafts up (suffix) search too; the engine keeps the index of the last ones asked for. */
  const char* const* draft_corpus;
  size_t draft_corpus_count; /* at most 65,536 */
  int32_t draft_optional;    /* 1: a drafter that cannot be used is left out with a warning; 0: it is an error */
  /* Of making the session: called before each drafter and measured pass, and every millisecond or so while texts are read and indexed. */
  skipstone_progress_fn progress;
  void* user_data;
  const struct skipstone_session_experiments* experiments; /* skipstone_experimental.h; NULL: none */
  skipstone_sampler_fn sampler;                            /* instead of the values above; not with SKIPSTONE_VERIFY_REJECTION; or NULL */
  void* sampler_data;
  int32_t ignore_end; /* 1: tokens that end a text are tokens like others */
  /* Over the last `repeat_last` tokens, those of the prompt among them (see penalty_begin): taken from a token's logit, frequency for each
   * time that it occurs there, presence where it does. -2 to 2; 0: off */
  float frequency_penalty, presence_penalty;
  /* 1: chunks carry log-probabilities. They are the same numbers whatever the drafter. */
  int32_t logprobs;
  uint32_t top_logprobs; /* and those of this many of the likeliest tokens, at most 20 */
  /* Of engines on several devices. 1: while a verification is at other devices, the first one drafts the next round, for the likeliest ways
   * in which it may end; 0: it waits; -1, the default: 1 unless the first device is a CPU. The same text. */
  int32_t pipeline_drafts;
  /* Before penalties, temperature and filters; no token twice. Log-probabilities stay the model's own. */
  const skipstone_token_bias* logit_bias;
  size_t logit_bias_count; /* at most 1024 */
  /* 0 or more: frequency and presence penalties look at all tokens of the conversation from this one on, and not at the last `repeat_last`.
   * The length of the prompt makes them those of OpenAI's API, which look at the answer alone. -1, the default: at the last ones. */
  int64_t penalty_begin;
  /* What every continuation fits, from its first token to its end; sessions keep what they need of it. Other tokens are as if the model gave
   * them no chance, whatever the drafter. NULL: anything. Not with `sampler`, `ignore_end` or synthetic acceptance. SKIPSTONE_UNSUPPORTED where
   * the model has no token that ends a text; SKIPSTONE_INVALID_ARGUMENT of a generation without a prompt where the last continuation does
   * not fit. */
  struct skipstone_grammar* grammar;
} skipstone_session_params;

/* Greedy, drafting with "auto", coupled verification: the same seed gives the same text on one device, whatever the drafter. */
SKIPSTONE_API void skipstone_session_params_init(skipstone_session_params* params, size_t struct_size);

/* The sampling values that the model's file recommends (general.sampling.temp, top_k, top_p, min_p, penalty_repeat, penalty_last_n), where
 * it does, over those that `params` has; the rest of it stays. */
SKIPSTONE_API skipstone_status skipstone_session_params_recommend(const skipstone_engine* engine, skipstone_session_params* params);

/* Whether a session could be made with them: sampling values and drafter; needs no engine, so it can be asked before loading one. */
SKIPSTONE_API skipstone_status skipstone_session_check_params(const skipstone_session_params* params);

SKIPSTONE_API skipstone_status skipstone_session_create(skipstone_engine* engine, const skipstone_session_params* params,
                                                        skipstone_session** session);

/* NULL is fine. In a callback of one of its calls, the session is freed when that call returns, which is soon. Not while another thread
 * uses it. */
SKIPSTONE_API void skipstone_session_free(skipstone_session* session);

/* Forgets the conversation; keeps what the drafter has learned. Breaks off a generation that has begun and not ended. */
SKIPSTONE_API skipstone_status skipstone_session_reset(skipstone_session* session);

/* Appends `count` tokens to the conversation and reads them without continuing it: a prefix that several sessions share is read once. */
SKIPSTONE_API skipstone_status skipstone_session_prefill(skipstone_session* session, const skipstone_token* tokens, size_t count);

/* The conversation becomes that of `from`, a session of the same engine (INVALID_ARGUMENT where it is not): keys and values are copied, not
 * computed again. Neither may be generating. What the drafter has learned stays. */
SKIPSTONE_API skipstone_status skipstone_session_copy_from(skipstone_session* session, skipstone_session* from);

/* A new session with the same parameters, stop strings and conversation, as skipstone_session_create() and skipstone_session_copy_from()
 * make it: several continuations of one text. To be freed with skipstone_session_free(). A sampler is shared, with its data. */
SKIPSTONE_API skipstone_status skipstone_session_fork(skipstone_session* session, skipstone_session** fork);

/* Writes the conversation, with its keys and values, to a file; an existing file of that name is replaced when the new one is complete.
 * After a load, in any process, the conversation continues with the same text as without: the same model, device, driver, context and
 * precision of the cache, the same build of the library and the same session parameters provided, whatever the drafter (but for
 * SKIPSTONE_VERIFY_REJECTION, whose draws depend on the rounds before). The file holds the text: it is as private as that. */
SKIPSTONE_API skipstone_status skipstone_session_save(skipstone_session* session, const char* path);

/* The conversation becomes that of the file. SKIPSTONE_BAD_FILE where it is damaged, SKIPSTONE_INVALID_ARGUMENT where it was saved with
 * another model, device, driver, context, precision or build, which the sentence names; the conversation stays what it was then. */
SKIPSTONE_API skipstone_status skipstone_session_load(skipstone_session* session, const char* path);

/* `logprob`: the natural logarithm of the probability that the model gives the token: before temperature, penalties and filters. */
typedef struct skipstone_token_logprob {
  skipstone_token token;
  float logprob;
} skipstone_token_logprob;

/* The text that one token adds. */
typedef struct skipstone_chunk {
  const char* text;                   /* whole characters, NUL-terminated; "" while the token is part of an unfinished one */
  size_t bytes;                       /* of text, without the NUL */
  skipstone_token token;              /* -1 for the last chunk, which only carries what an unfinished character left */
  int32_t drafted;                    /* 1: was drafted and accepted; 0: the full model's own token */
  size_t struct_size;                 /* set by the library; the first release had no sizes, so it follows that release's fields */
  const char* drafter;                /* whose draft it was; NULL where it was none */
  float logprob;                      /* of the token, where skipstone_session_params.logprobs asks for it */
  const skipstone_token_logprob* top; /* the likeliest tokens of its place, the likeliest first */
  size_t top_count;
} skipstone_chunk;

/* Non-zero stops the generation: it ends with SKIPSTONE_STOP_CANCELLED, which is no error. */
typedef int (*skipstone_chunk_fn)(const skipstone_chunk* chunk, void* user_data);

/* Appends `tokens` to the conversation and continues it by at most `max_tokens`. The functions below then say what came out, until the
 * session's next call. SKIPSTONE_INVALID_ARGUMENT where the tokens do not fit the context. */
SKIPSTONE_API skipstone_status skipstone_session_generate(skipstone_session* session, const skipstone_token* tokens, size_t count,
                                                          uint32_t max_tokens, skipstone_chunk_fn chunk, void* user_data);

/* Stops the generation that runs, or else the next one, at its next token, or before: between two passes of its prompt, or of its drafts.
 * Prompt tokens that were read by then stay read, and the same call continues. From any thread; async-signal-safe. */
SKIPSTONE_API void skipstone_session_cancel(skipstone_session* session);

/* ---- a generation in steps, between frames ------------------------------------------------------------------------------ */

/* As skipstone_session_generate(), but does nothing yet: skipstone_session_step() continues it, a while at a time. The text is the same.
 * Until it has ended the session's other calls are refused, but for step, cancel, reset and free. It refuses what generate refuses. */
SKIPSTONE_API skipstone_status skipstone_session_begin(skipstone_session* session, const skipstone_token* tokens, size_t count,
                                                       uint32_t max_tokens, skipstone_chunk_fn chunk, void* user_data);

typedef enum skipstone_step_mode {
  SKIPSTONE_STEP_WAIT = 0, /* returns when the device has done what the step submitted */
  SKIPSTONE_STEP_POLL = 1  /* submits once and returns; does nothing while the device is busy with the last step */
} skipstone_step_mode;

/* Continues for about `microseconds`: submits as much work as earlier steps show to fit in that time, but at least a layer of a pass (of a
 * long prompt: a kernel), so that every step makes progress. Callbacks are called from here. `done` becomes 1 when the
 * generation has ended, also by an error. A cancelled generation ends with the next token, or before. */
SKIPSTONE_API skipstone_status skipstone_session_step(skipstone_session* session, uint64_t microseconds, int32_t mode, int32_t* done);

/* ---- the conversation --------------------------------------------------------------------------------------------------- */

/* Texts that end a continuation before them, from the next generation on; NULL, 0: none. At most 64 of at most 4096 bytes. They are found
 * across tokens too, and whatever the drafter: chunks hold back text that could be a prefix of one. The first that is complete counts. The
 * tokens that it is made of stay in the conversation and in skipstone_session_tokens(); skipstone_session_rewind() takes them out. */
SKIPSTONE_API skipstone_status skipstone_session_set_stop(skipstone_session* session, const char* const* strings, size_t count);

/* Tokens of the conversation, prompts and continuations; 0 while a generation has begun and not ended. In a callback of
 * skipstone_session_generate() or _prefill(): what it was before the call. */
SKIPSTONE_API size_t skipstone_session_length(const skipstone_session* session);

/* Rolls back the last `count` tokens of the conversation. Where it then ends within a continuation it is as if that had stopped there, and
 * continues without further tokens. SKIPSTONE_INVALID_ARGUMENT where it has fewer. Sliding-window layers keep what the last 256 tokens saw:
 * further back, the text is read again, which takes its time. Where that fails, the conversation is the prefix that was read. */
SKIPSTONE_API skipstone_status skipstone_session_rewind(skipstone_session* session, size_t count);

/* The logits after the last token that was read: after skipstone_session_prefill(), those that choose the next token; after a
 * continuation, those that chose its last token, which is not read before the session continues. One float for each token of the
 * vocabulary; `count` and `capacity` as for skipstone_tokenize(). Takes a pass over one token and changes no text.
 * SKIPSTONE_INVALID_ARGUMENT where the conversation is empty; SKIPSTONE_UNSUPPORTED after a lossy drafter's text. */
SKIPSTONE_API skipstone_status skipstone_session_logits(skipstone_session* session, float* logits, size_t capacity, size_t* count);

/* The hidden state of those logits: the last layer's output after the last norm, one float for each of the model's dimensions. */
SKIPSTONE_API skipstone_status skipstone_session_hidden_state(skipstone_session* session, float* state, size_t capacity, size_t* count);

typedef enum skipstone_stop_reason {
  SKIPSTONE_STOP_MAX_TOKENS = 0,
  SKIPSTONE_STOP_END_TOKEN = 1,
  SKIPSTONE_STOP_CONTEXT_FULL = 2,
  SKIPSTONE_STOP_CANCELLED = 3,
  SKIPSTONE_STOP_STRING = 4
} skipstone_stop_reason;

/* "max_tokens", "end_token", "context_full", "cancelled", "stop_string"; "unknown" for other numbers. */
SKIPSTONE_API const char* skipstone_stop_reason_name(skipstone_stop_reason reason);

/* Calls `chunk` for each of `tokens` but the first, with the log-probability that the model gives it after those before it, and those of
 * skipstone_session_params.top_logprobs likeliest tokens, where its logprobs is 1: the score of a text that is given. The conversation stays as it is.
 * SKIPSTONE_INVALID_ARGUMENT where the tokens do not fit the context, SKIPSTONE_CANCELLED where `chunk` says so. */
SKIPSTONE_API skipstone_status skipstone_session_score(skipstone_session* session, const skipstone_token* tokens, size_t count,
                                                       skipstone_chunk_fn chunk, void* user_data);

/* The tokens of the last continuation. */
SKIPSTONE_API const skipstone_token* skipstone_session_tokens(const skipstone_session* session, size_t* count);

/* ---- statistics --------------------------------------------------------------------------------------------------------- */

typedef struct skipstone_stats {
  size_t struct_size;  /* set by the caller: sizeof(skipstone_stats) */
  int32_t stop_reason; /* skipstone_stop_reason */
  int32_t lossy;       /* 1: a lossy drafter took part, so the text need not be plain decoding's */
  uint64_t prompt_tokens, generated_tokens;
  uint64_t rounds, drafted, accepted;
  double prompt_seconds, generation_seconds;
  double device_seconds; /* of the generation: spent waiting for the device */
} skipstone_stats;

/* Of the last generation. */
SKIPSTONE_API skipstone_status skipstone_session_stats(const skipstone_session* session, skipstone_stats* stats);

/* All that is known of the last generation: {"stop_reason", "prompt_tokens", "cached_tokens", "generated_tokens", "drafter", "by_drafter":
 * [{"drafter", "rounds", "drafted", "accepted"}], "by_strategy": [{"strategy", "rows", "won_by_rank", "won_by_length"}], "corpus":
 * {"tokens", "bytes", "seconds"}, "rounds", "device_rounds", "pipelined_drafts", "drafted", "accepted", "by_position": [{"drafted",
 * "accepted"}], "experts": {"layers", "distinct", "choices"}, "skipped_sublayers", "sublayers", "skip_set", "refreshes", "refreshed_sets",
 * "chosen", "lossy", "early": {...}, "thresholds", "attention_cosine", "seconds": {"prompt", "generation", "draft", "verify", "round",
 * "refresh", "host", "device", "remote": of "device", in which passes were at the devices of other layers, "pipelined": of that, in which
 * drafts were made that were used, "plain": what plain decoding would have taken instead of "generation", from the times of these rounds
 * and the measured costs of passes; 0 where none is known}}. experts: sums over the layers with experts of passes that chose tokens, on
 * the first device: how many experts these read, and how many their rows chose; cached_tokens: of the prompt, whose keys and values
 * skipstone_engine_params.prefixes found; by_position: the 1st, 2nd, ... draft of a round; by_drafter: of "A+B", in the order of their
 * first proposals; chosen: what a drafter that chooses among others took, as a sentence; thresholds: the probability below which a draft
 * was its round's last, round by round; attention_cosine: mean cosine of the residual stream before and after each attention sublayer over
 * the last prompt, layer by layer, where the drafter measures it. */
SKIPSTONE_API skipstone_status skipstone_session_report(const skipstone_session* session, char** json);

#ifdef __cplusplus
}
#endif

#endif
