/* The part of Skipstone's C API that measures a device and searches what to skip on it. Included by skipstone.h. */
#ifndef SKIPSTONE_MEASURE_H
#define SKIPSTONE_MEASURE_H

#include "skipstone/skipstone.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- measuring ---------------------------------------------------------------------------------------------------------- */

/* What is measured: `prompt` tokens in one go and then `generate` tokens one by one, or one pass that verifies `rows` rows (1 to
 * skipstone_engine_info.max_rows), in greedy decoding; all of it behind `depth` tokens that the KV cache has already. */
typedef struct skipstone_work {
  size_t struct_size;
  uint32_t depth;
  uint32_t prompt;
  uint32_t generate;
  uint32_t rows;   /* 0 where prompt or generate is not */
  uint32_t chains; /* above 0: so many chains of `rows` rows that share nothing, in as many passes as they take */
} skipstone_work;

/* All zero. */
skipstone_work skipstone_work_default(void);

/* Runs `work` once over pseudo-random tokens, without the session's drafter, and gives the seconds it took by the host's clock. Filling the
 * cache up to the depth is not among them, and is not repeated by the session's later measurements. The conversation is empty afterwards.
 * The first run of a kind records its passes: do one that does not count. SKIPSTONE_INVALID_ARGUMENT for what is none of both kinds, for
 * too many rows, and where it does not fit the context. */
skipstone_status skipstone_session_measure(skipstone_session* session, const skipstone_work* work, double* seconds);

/* What the device copies from its memory to its memory, bytes read and written in a second: the median of several copies of a buffer larger
 * than caches. `device` as for skipstone_list_devices(). Needs up to 512 MiB of device memory while it runs. */
skipstone_status skipstone_copy_bandwidth(const char* device, double* bytes_per_second);

/* ---- cosines ------------------------------------------------------------------------------------------------------------ */

typedef struct skipstone_cosine_params {
  size_t struct_size;
  const char* const* prompts; /* texts (UTF-8) */
  size_t prompt_count;
  skipstone_progress_fn progress; /* "measuring cosines", then as skipstone_engine_costs() */
  void* user_data;
} skipstone_cosine_params;

skipstone_cosine_params skipstone_cosine_default_params(void);

/* How much each sublayer turns the residual stream: the cosine between the stream before and after it (its residual added), mean over the
 * positions of a prompt, of every layer and prompt ("Draft on the Fly", arXiv 2410.01028, table 1). Reads each prompt three times; prompts
 * longer than the context are left out. Not while a session of the engine generates. {"model", "fingerprint", "device", "driver", "layers",
 * "prompts", "left_out", "tokens", "attention": {"min", "max", "mean", "median": over all layers and prompts, "microseconds": of one such
 * sublayer in a pass of one row, as skipstone_engine_costs() has it, "layers": [{"mean", "min", "max": over the prompts}]}, "mlp": the
 * same, "reading": {"plain", "attention", "all": microseconds to read a prompt without cosines, with those of attention (what "asd"
 * measures) and with all, medians over the prompts by the host's clock, "attention_added", "all_added": medians of the differences, which
 * may be below 0 where they drown in noise}}. SKIPSTONE_INVALID_ARGUMENT where no prompt fits the context. */
skipstone_status skipstone_cosines(skipstone_engine* engine, const skipstone_cosine_params* params, char** json);

/* ---- searching a skip set ----------------------------------------------------------------------------------------------- */

/* How far a search is. */
typedef struct skipstone_tune_step {
  const char* stage;    /* "writing texts", "measuring costs", "search", "random search", "real runs" */
  double done;          /* of the stage, 0 to 1 */
  double seconds;       /* since the start */
  uint32_t evaluations; /* sets looked at */
  double speedup;       /* expected of the best set so far, against plain decoding; 0 before there is one */
  const char* skip_set; /* that set; "" */
  const char* strategy; /* what found it: "asd", "bayes" or "random"; "" */
} skipstone_tune_step;

/* Non-zero stops the search; what it found is kept. */
typedef int (*skipstone_tune_fn)(const skipstone_tune_step* step, void* user_data);

typedef struct skipstone_tune_params {
  size_t struct_size;
  const char* const* prompts; /* texts (UTF-8): sets are scored on what the model makes of the first eight that fit, the next eight are for
                                 real runs (the same ones where there are no more) */
  size_t prompt_count;
  const char* prompts_name; /* for the profile: where they are from */
  const char* profile_path; /* NULL: nothing is written. The state of the search is kept beside it (x.json: x.state.json), so that a search
                               that was stopped goes on where it was */
  double minutes;           /* for everything; default 8 */
  uint32_t iterations;      /* sets that the search looks at; 0: what there is time for, less where it stops paying */
  uint32_t tokens;          /* of each text; default 64 */
  uint64_t seed;
  int32_t baseline; /* default 1: a random search looks at as many sets, to compare with */
  skipstone_tune_fn progress;
  void* user_data;
} skipstone_tune_params;

skipstone_tune_params skipstone_tune_default_params(void);

/* Searches the sublayers that drafts of the engine's model leave out ("skip:..."), with the constants to draft with, by Bayesian
 * optimisation of the expected speed-up; runs the best of it, of Draft on the Fly's sets and of a random search beside plain decoding; and
 * writes the fastest set as a profile ("skip:PROFILE.json"). Takes memory for some sessions and one more KV cache for each text. Not while
 * a session of the engine generates. {"profile": the profile as the file has it, "interrupted", "stopped_early", "evaluations", "resumed",
 * "prompts": {"search", "runs"}, "runs", "seconds": {"texts", "costs", "search", "runs", "all"}, "strategies": [{"strategy", "evaluations",
 * "seconds", "best", "best_after": [...]}], "contenders": [{"name", "draft", "strategy", "skip_set", "skipped", "expected": {...} or null,
 * "speedup", "quartiles": [low, high], "acceptance", "tokens_per_round"}], "costs": [{"rows", "attention", "mlp", "rest"}]}.
 * SKIPSTONE_INVALID_ARGUMENT where no prompt fits the context, and where the state beside the profile belongs to another model or other
 * prompts. Stopped before there is anything to keep: SKIPSTONE_CANCELLED. */
skipstone_status skipstone_tune(skipstone_engine* engine, const skipstone_tune_params* params, char** json);

#ifdef __cplusplus
}
#endif

#endif
