/* Experiments: measuring, and sessions whose texts say nothing. Without promise: anything here may change or be removed in any version. */
#ifndef SKIPSTONE_EXPERIMENTAL_H
#define SKIPSTONE_EXPERIMENTAL_H

#include "skipstone/skipstone.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sessions ----------------------------------------------------------------------------------------------------------- */

/* The struct that skipstone_session_params.experiments points to. */
typedef struct skipstone_session_experiments {
  size_t struct_size;
  /* For benchmarks, not empty: probabilities that the 1st, 2nd, ... draft of a round is accepted, given those before it (the last one holds
   * for all further ones). Every pass runs, but acceptance is drawn by these, the same each time, no token ends the text, and the text says
   * nothing. SKIPSTONE_INVALID_ARGUMENT with SKIPSTONE_VERIFY_REJECTION and lossy drafters. */
  const double* synthetic_acceptance;
  size_t synthetic_acceptance_count; /* at most 31 */
} skipstone_session_experiments;

SKIPSTONE_API void skipstone_session_experiments_init(skipstone_session_experiments* experiments, size_t struct_size);

/* The share of the last continuation's tokens that the whole model chooses at their places, given the tokens before them: what a lossy
 * drafter costs. Runs the model over the conversation again. SKIPSTONE_INVALID_ARGUMENT where nothing was generated. */
SKIPSTONE_API skipstone_status skipstone_session_agreement(skipstone_session* session, double* share);

/* ---- measuring ---------------------------------------------------------------------------------------------------------- */

/* The work to measure: `prompt` tokens in one go and then `generate` tokens one by one, or one pass that verifies `rows` rows (1 to
 * skipstone_engine_info.max_rows), in greedy decoding; all of it after `depth` tokens that the KV cache has already. */
typedef struct skipstone_work {
  size_t struct_size;
  uint32_t depth;
  uint32_t prompt;
  uint32_t generate;
  uint32_t rows;   /* 0 where prompt or generate is not */
  uint32_t chains; /* above 0: this many chains (at most 1024) of `rows` rows that share nothing, in as many passes as they take */
} skipstone_work;

/* All zero. */
SKIPSTONE_API void skipstone_work_init(skipstone_work* work, size_t struct_size);

/* Runs `work` once over pseudo-random tokens, without the session's drafter, and gives the seconds it took by the host's clock. Filling the
 * cache up to the depth is not among them, and is not repeated by the session's later measurements. The conversation is empty afterwards.
 * The first run of a kind records its passes: do one that does not count. SKIPSTONE_INVALID_ARGUMENT for what is none of both kinds, for
 * too many rows, and where it does not fit the context. */
SKIPSTONE_API skipstone_status skipstone_session_measure(skipstone_session* session, const skipstone_work* work, double* seconds);

/* The device's copy bandwidth within its memory, bytes read and written in a second: the median of several copies of a buffer larger
 * than caches. `device` as for skipstone_list_devices(). Needs up to 512 MiB of device memory while it runs. */
SKIPSTONE_API skipstone_status skipstone_copy_bandwidth(const char* device, double* bytes_per_second);

/* ---- cosines ------------------------------------------------------------------------------------------------------------ */

typedef struct skipstone_cosine_params {
  size_t struct_size;
  const char* const* prompts; /* texts (UTF-8) */
  size_t prompt_count;
  skipstone_progress_fn progress; /* "measuring cosines", then as skipstone_engine_costs() */
  void* user_data;
} skipstone_cosine_params;

SKIPSTONE_API void skipstone_cosine_params_init(skipstone_cosine_params* params, size_t struct_size);

/* How much each sublayer turns the residual stream: the cosine between the stream before and after it (its residual added), mean over the
 * positions of a prompt, of every layer and prompt ("Draft on the Fly", arXiv 2410.01028, table 1). Reads each prompt three times; prompts
 * longer than the context are left out. Not while a session of the engine generates. {"model", "fingerprint", "device", "driver", "layers",
 * "prompts", "left_out", "tokens", "attention": {"min", "max", "mean", "median": over all layers and prompts, "microseconds": of one such
 * sublayer in a pass of one row, as skipstone_engine_costs() has it, "layers": [{"mean", "min", "max": over the prompts}]}, "mlp": the
 * same, "reading": {"plain", "attention", "all": microseconds to read a prompt without cosines, with those of attention (what "asd"
 * measures) and with all, medians over the prompts by the host's clock, "attention_added", "all_added": medians of the differences, which
 * may be below 0 where they drown in noise}}. SKIPSTONE_INVALID_ARGUMENT where no prompt fits the context. */
SKIPSTONE_API skipstone_status skipstone_cosines(skipstone_engine* engine, const skipstone_cosine_params* params, char** json);

/* Times the ways in which each kernel can be laid out on the device, on the weights of the model, for at most about `seconds`, and keeps
 * the results in the cache folder, for engines that are loaded from now on. Only speed depends on it. {"device", "driver", "model",
 * "seconds", "left_out", "contests": [{"operation", "subject", "rows", "candidates": [{"choice", "microseconds", "dropped"}], "chosen",
 * "speedup"}]}; the first candidate of a contest is the built-in choice. */
SKIPSTONE_API skipstone_status skipstone_tune_device(const skipstone_engine_params* params, double seconds, char** json);

/* The costs of the model's passes on the device, in microseconds: from the cache folder, or measured now. Not while a session of the engine
 * generates. {"device", "driver", "model", "fingerprint", "context", "layers", "position", "clock": "timestamps" or "wall",
 * "passes": [{"rows", "verify", "relative", "fixed", "attention", "mlp", "output", "host"}], "exits": [{"layers", "draft", "relative"}]}.
 * attention and mlp are of one sublayer, relative is to plain decoding of one token. `progress` may be NULL. */
SKIPSTONE_API skipstone_status skipstone_engine_costs(skipstone_engine* engine, skipstone_progress_fn progress, void* user_data,
                                                      char** json);

/* ---- searching a skip set ----------------------------------------------------------------------------------------------- */

struct skipstone_tune_params;

/* Which skip set to try next: skipstone_tune()'s is Bayesian optimisation, another can be given here. Sets are text, "attn:3,5-7;mlp:9". */
typedef struct skipstone_search_strategy {
  size_t struct_size;
  const char* name;
  /* The next set, into `set` with its NUL; no set twice. Non-zero: there is no further one. */
  int (*next)(char* set, size_t capacity, void* user_data);
  /* The value of a set: its expected speed-up. Also of sets that others have proposed before. */
  void (*tell)(const char* set, double value, void* user_data);
  void* user_data;
} skipstone_search_strategy;

/* skipstone_tune() with a strategy of the caller's. */
SKIPSTONE_API skipstone_status skipstone_search_skip_set(skipstone_engine* engine, const struct skipstone_tune_params* params,
                                                         const skipstone_search_strategy* strategy, char** json);

/* ---- jobs of several processes ------------------------------------------------------------------------------------------- */

/* Where the library is built with SKIPSTONE_MPI and mpirun has started the process, this is one rank of a job. The first of these functions
 * joins it, and returns when all ranks have called one. From then on a rank that does not answer for 5 s, or that dies, ends the job: one
 * sentence on standard error, and exit code 1. skipstone_engine_params.devices = "mpi" in rank 0 gives each rank some of the layers; the
 * others call skipstone_job_serve(). */
typedef struct skipstone_job_info {
  size_t struct_size;
  uint32_t rank;       /* 0 is the first */
  uint32_t ranks;      /* 1 without a job */
  uint32_t local_rank; /* among the ranks on this machine */
  uint32_t local_ranks;
} skipstone_job_info;

SKIPSTONE_API skipstone_status skipstone_job_get_info(skipstone_job_info* info);

/* The device of this rank as skipstone_engine_params.device has it: the best of its machine for the first rank there, and so on.
 * SKIPSTONE_NO_DEVICE where there are more ranks than devices. For skipstone_string_free(). */
SKIPSTONE_API skipstone_status skipstone_job_device(char** device);

/* Runs layers of the models that rank 0 loads, until rank 0 ends the job. Not in rank 0. `transfer_microseconds` as in rank 0's engines. */
SKIPSTONE_API skipstone_status skipstone_job_serve(uint64_t transfer_microseconds);

/* Rank 0 waits for the texts of all ranks and gets them one after the other, for skipstone_string_free(); the others get NULL. */
SKIPSTONE_API skipstone_status skipstone_job_gather(const char* text, char** texts);

/* In each rank at its end: rank 0 ends the job, the others wait for that. Does nothing without a job. */
SKIPSTONE_API void skipstone_job_end(void);

/* For signal handlers, in rank 0: the process is asked to end, as mpirun does where another rank has died. */
SKIPSTONE_API void skipstone_job_stop(void);

/* ---- errors ------------------------------------------------------------------------------------------------------------ */

/* What this thread's last failed call was about, for programs: a field or parameter ("top_logprobs"), or the path of a part of a document
 * ("messages[2].tool_call_id", "tools[0].type", "options.now"). "" where the error is about none of these or its place is not known. Valid
 * until the thread's next failing call. skipstone_last_error() has the sentence. */
SKIPSTONE_API const char* skipstone_last_error_where(void);

/* ---- libraries over this one ------------------------------------------------------------------------------------------- */

/* For functions that report as this library's do: keeps `sentence` (NULL: that there is no memory left) for this thread's
 * skipstone_last_error(), and returns `status`. skipstone_last_error_where() is "" then. */
SKIPSTONE_API skipstone_status skipstone_set_last_error(skipstone_status status, const char* sentence);

/* Sets skipstone_last_error_where(), after skipstone_set_last_error(); NULL as "". */
SKIPSTONE_API void skipstone_set_last_error_where(const char* where);

/* Writes a message where skipstone_set_log() says. */
SKIPSTONE_API void skipstone_log_message(int level, const char* text);

#ifdef __cplusplus
}
#endif

#endif
