/* Skipstone's C API: GGUF language models on Vulkan devices, drafting with the model's own layers.
 *
 * Conventions
 * - Every function that can fail returns a skipstone_status; skipstone_last_error() then has the sentence, per thread.
 * - Parameter structs start with `struct_size`. Fill them with their *_default_params() function, then change what you need;
 *   so programs built against an older header keep working with a newer library.
 * - Text is UTF-8. Strings that come back as `char**` belong to the caller: give them to skipstone_string_free().
 * - Strings and arrays that come back as `const` pointers belong to the handle they were asked from.
 * - An engine may be shared by sessions and threads; a session is used by one thread at a time (except skipstone_session_cancel()).
 * - Reports (devices, inspect, doctor) are JSON documents; fields may be added to them, never change their meaning.
 */
#ifndef SKIPSTONE_H
#define SKIPSTONE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ------------------------------------------------------------------------------------------------------------- */

typedef enum skipstone_status {
  SKIPSTONE_OK = 0,
  SKIPSTONE_INVALID_ARGUMENT = 1, /* the caller asked for something that cannot be */
  SKIPSTONE_NOT_FOUND = 2,        /* a file, device or name does not exist */
  SKIPSTONE_BAD_FILE = 3,         /* a file is damaged or not what it says */
  SKIPSTONE_UNSUPPORTED = 4,      /* well-formed, but this build or device cannot do it */
  SKIPSTONE_OUT_OF_MEMORY = 5,    /* host or device memory, found by planning or by the driver */
  SKIPSTONE_NO_DEVICE = 6,        /* no Vulkan loader, no driver or no device */
  SKIPSTONE_DEVICE_LOST = 7,      /* the driver gave the device up; the engine and its sessions are of no more use */
  SKIPSTONE_IO = 8,               /* reading or writing failed */
  SKIPSTONE_CANCELLED = 9,        /* a callback asked to stop */
  SKIPSTONE_INTERNAL = 10         /* a defect of the library */
} skipstone_status;

/* "ok", "invalid_argument", ...; "unknown" for other numbers. */
const char* skipstone_status_name(skipstone_status status);

/* What went wrong in this thread's last failed call, as one sentence; "" before the first. Valid until the thread's next call. */
const char* skipstone_last_error(void);

/* "0.1.0", and the commit it was built from ("unknown" outside a git checkout). */
const char* skipstone_version(void);
const char* skipstone_commit(void);

void skipstone_string_free(char* text);

/* ---- messages, progress ------------------------------------------------------------------------------------------------- */

typedef enum skipstone_log_level {
  SKIPSTONE_LOG_DEBUG = 0,
  SKIPSTONE_LOG_INFO = 1,
  SKIPSTONE_LOG_WARNING = 2,
  SKIPSTONE_LOG_ERROR = 3
} skipstone_log_level;

/* `level` is a skipstone_log_level; `text` has no line end. */
typedef void (*skipstone_log_fn)(int level, const char* text, void* user_data);

/* Where warnings go instead of to standard error; NULL silences them. Call it before any other thread uses the library. */
void skipstone_set_log(skipstone_log_fn log, void* user_data);

/* `stage` says what is being done ("loading weights", "compiling kernels", "quantising"); `done`: 0 to 1. Non-zero stops the call with
 * SKIPSTONE_CANCELLED. */
typedef int (*skipstone_progress_fn)(const char* stage, double done, void* user_data);

/* ---- devices, drafters, files, self-test -------------------------------------------------------------------------------- */

/* Every Vulkan device, and which one `wanted` would take and why. `wanted`: a number of the list or a part of a name; NULL or "" for
 * what SKIPSTONE_DEVICE says, else the best. {"devices": [{"index", "name", "chosen", "reason", "unsuitable", "tier", ...}]}
 * SKIPSTONE_NO_DEVICE where there is no loader or no driver. */
skipstone_status skipstone_list_devices(const char* wanted, char** json);

/* A way of drafting. `options`: its "key=value,..." with the defaults. */
typedef struct skipstone_drafter_info {
  const char* name;
  const char* summary;
  const char* options;
  int32_t lossless;
} skipstone_drafter_info;

size_t skipstone_drafter_count(void);

/* Whether all drafters of a specification, as skipstone_session_params.draft has it, are lossless; 0 also for names that do not exist. */
int skipstone_draft_is_lossless(const char* draft);

/* SKIPSTONE_INVALID_ARGUMENT past the end. The strings live as long as the library. */
skipstone_status skipstone_get_drafter(size_t index, skipstone_drafter_info* info);

typedef enum skipstone_kv_type {
  SKIPSTONE_KV_AUTOMATIC = 0, /**< f16 */
  SKIPSTONE_KV_F16 = 1,
  SKIPSTONE_KV_F32 = 2,
  SKIPSTONE_KV_Q8_0 = 3 /**< 8-bit quants in blocks of 32 dimensions with a scale: for models whose heads are multiples of 32 */
} skipstone_kv_type;

typedef struct skipstone_inspect_params {
  size_t struct_size;
  const char* model_path;
  uint32_t context; /* tokens that the memory plan is for; 0: what the model was trained for, at most 4096 */
  int32_t kv_type;  /* skipstone_kv_type */
} skipstone_inspect_params;

skipstone_inspect_params skipstone_inspect_default_params(void);

/* What is in a GGUF file; needs no device. {"path", "version", "bytes", "parameters", "metadata": [...], "tensor_types": [...],
 * "tensors": [...], "model": {...} or null, "unsupported": "" or why it cannot run, "memory_plan": {...} or null} */
skipstone_status skipstone_inspect(const skipstone_inspect_params* params, char** json);

/* One case of the self-test. `name` says kernel, format and shape; `detail` what differed ("" where it passed). */
typedef struct skipstone_check {
  const char* kernel;
  const char* name;
  const char* detail;
  int32_t passed;
} skipstone_check;

/* Non-zero stops the self-test with SKIPSTONE_CANCELLED. */
typedef int (*skipstone_check_fn)(const skipstone_check* check, void* user_data);

typedef struct skipstone_doctor_params {
  size_t struct_size;
  const char* device; /* as for skipstone_list_devices() */
  int32_t full;       /* 0: a few seconds; 1: every shape */
  int32_t validation; /* the Vulkan validation layers; default: whether SKIPSTONE_VALIDATION is set */
  skipstone_check_fn check;
  void* user_data;
} skipstone_doctor_params;

skipstone_doctor_params skipstone_doctor_default_params(void);

/* Runs every kernel on the device against the scalar reference and compares rows by bytes; measures copy bandwidth.
 * SKIPSTONE_OK means that it ran: {"passed": bool, "cases", "failures", "kernels": [{"name", "cases", "failures"}],
 * "copy_bytes_per_second", "validation_messages", "device": {...}, "version", "commit"} says what came out. */
skipstone_status skipstone_doctor(const skipstone_doctor_params* params, char** json);

/* ---- engine: a model on a device ---------------------------------------------------------------------------------------- */

typedef struct skipstone_engine skipstone_engine;

/* Where the kernels' choices (docs/tuning.md) come from. No text depends on it. */
typedef enum skipstone_tuning {
  SKIPSTONE_TUNING_AUTOMATIC = 0, /* what was measured before; on GPUs, measured now (some seconds) where nothing was */
  SKIPSTONE_TUNING_OFF = 1,       /* the built-in table */
  SKIPSTONE_TUNING_FIRST_USE = 2  /* as AUTOMATIC, but measured on CPU devices too; their drivers may take half a minute */
} skipstone_tuning;

typedef struct skipstone_engine_params {
  size_t struct_size;
  const char* model_path;
  const char* device; /* as for skipstone_list_devices() */
  uint32_t context;   /* tokens of prompt and continuation together; 0: what the model was trained for, at most 4096 */
  int32_t kv_type;    /* skipstone_kv_type */
  int32_t validation; /* the Vulkan validation layers; default: whether SKIPSTONE_VALIDATION is set */
  skipstone_progress_fn progress;
  void* user_data;
  int32_t tuning; /* skipstone_tuning */
  /* Instead of model_path (then NULL): "NAME:TYPE", e.g. "llama-2-7b:q4_0", a published shape with random weights that the device makes,
   * for benchmarks. There is no tokenizer: functions that take or give text fail with SKIPSTONE_UNSUPPORTED, chunks have no text.
   * SKIPSTONE_INVALID_ARGUMENT with what there is for other names and types. */
  const char* synthetic;
} skipstone_engine_params;

skipstone_engine_params skipstone_engine_default_params(void);

/* The names that `synthetic` knows, separated by ", ". */
const char* skipstone_synthetic_models(void);

/* Opens the file, plans memory (SKIPSTONE_OUT_OF_MEMORY with the numbers, before anything is allocated), loads and compiles. */
skipstone_status skipstone_engine_load(const skipstone_engine_params* params, skipstone_engine** engine);

/* Sessions that are still there keep what they need. NULL is fine. */
void skipstone_engine_free(skipstone_engine* engine);

typedef struct skipstone_engine_info {
  size_t struct_size; /* set by the caller: sizeof(skipstone_engine_info) */
  const char* model_name;
  const char* architecture;
  const char* fingerprint; /* of the model file, 16 hexadecimal digits */
  const char* device_name;
  const char* driver;
  const char* tier;
  uint32_t layers, vocabulary, context;
  uint64_t weights_bytes, kv_bytes, activation_bytes; /* as planned */
  uint64_t device_bytes;                              /* held now */
  uint64_t validation_messages;
  uint32_t exit_layer;         /* the layer that the model was trained to exit early at, counted from 1; 0: it does not say */
  uint32_t max_rows;           /* rows that one pass can verify, hence the most of skipstone_work.rows */
  int32_t kv_type;             /* skipstone_kv_type of the KV cache as it is: never SKIPSTONE_KV_AUTOMATIC */
  const char* model_type;      /* the tensor type that most parameters have: "Q4_0" */
  uint64_t parameters;         /* of the model */
  uint64_t tensor_bytes;       /* of its tensors, as a file has them */
  uint64_t bytes_per_token;    /* of weights that a pass over one token reads: all but the embedding's other rows */
  uint64_t kv_bytes_per_token; /* of keys and values that it reads for each token in the cache */
} skipstone_engine_info;

skipstone_status skipstone_engine_get_info(const skipstone_engine* engine, skipstone_engine_info* info);

/* Times the ways in which each kernel can be laid out on the device, on the weights of the model, for at most about `seconds`, and keeps
 * what came out in the cache folder, for engines that are loaded from now on. Only speed depends on it. {"device", "driver", "model",
 * "seconds", "left_out", "contests": [{"operation", "subject", "rows", "candidates": [{"choice", "microseconds", "dropped"}], "chosen",
 * "speedup"}]}; the first candidate of a contest is the built-in choice. */
skipstone_status skipstone_tune_device(const skipstone_engine_params* params, double seconds, char** json);

/* What the model's passes cost on the device, in microseconds: from the cache folder, or measured now. Not while a session of the engine
 * generates. {"device", "driver", "model", "fingerprint", "context", "layers", "position", "clock": "timestamps" or "wall",
 * "passes": [{"rows", "verify", "relative", "fixed", "attention", "mlp", "output", "host"}], "exits": [{"layers", "draft", "relative"}]}.
 * attention and mlp are of one sublayer, relative is to plain decoding of one token. `progress` may be NULL. */
skipstone_status skipstone_engine_costs(skipstone_engine* engine, skipstone_progress_fn progress, void* user_data, char** json);

/* ---- tokens ------------------------------------------------------------------------------------------------------------- */

typedef int32_t skipstone_token;

/* Text to tokens. `add_special`: BOS and EOS as the model says. `parse_special`: special tokens that are written out in the text
 * become those tokens. `count` gets the number of tokens; where it is more than `capacity` nothing is written to `tokens`, and the call
 * fails unless capacity is 0. SKIPSTONE_INVALID_ARGUMENT for text that is not UTF-8. */
skipstone_status skipstone_tokenize(const skipstone_engine* engine, const char* text, size_t bytes, int add_special, int parse_special,
                                    skipstone_token* tokens, size_t capacity, size_t* count);

/* Tokens to text. The text is followed by a NUL that `bytes` (may be NULL) does not count. */
skipstone_status skipstone_detokenize(const skipstone_engine* engine, const skipstone_token* tokens, size_t count, char** text,
                                      size_t* bytes);

/* The bytes one token stands for, not necessarily whole characters; empty for control tokens. */
skipstone_status skipstone_token_piece(const skipstone_engine* engine, skipstone_token token, char** text, size_t* bytes);

/* ---- session: a conversation -------------------------------------------------------------------------------------------- */

typedef struct skipstone_session skipstone_session;

/* Who steps a round of drafts and their verification. The text is the same; greedy decoding alone has a choice. */
typedef enum skipstone_rounds {
  SKIPSTONE_ROUNDS_AUTOMATIC = 0, /* a session times some rounds of each kind and goes on with the faster */
  SKIPSTONE_ROUNDS_HOST = 1,      /* the host, pass by pass */
  SKIPSTONE_ROUNDS_DEVICE = 2     /* the device: drafts, verification and acceptance are one submission */
} skipstone_rounds;

/* How drafts are verified when sampling. Greedy decoding knows no difference. */
typedef enum skipstone_verification {
  SKIPSTONE_VERIFY_COUPLED = 0,  /* same seed, same text as plain decoding */
  SKIPSTONE_VERIFY_REJECTION = 1 /* same distribution as plain decoding, another text (Leviathan et al. 2023) */
} skipstone_verification;

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
   * separates only where the name of a drafter and then ':', '+' or the end follow; "\+" never does. */
  const char* draft;
  int32_t rounds; /* skipstone_rounds */
  int32_t verify; /* skipstone_verification */
  /* Text files that drafters which look drafts up (suffix) search too; the engine keeps the index of the last ones asked for. */
  const char* const* draft_corpus;
  size_t draft_corpus_count;
  int32_t draft_optional;         /* 1: a drafter that cannot be used is left out with a warning; 0: it is an error */
  skipstone_progress_fn progress; /* of reading and indexing the corpus */
  void* user_data;
  /* For benchmarks, not empty: probabilities that the 1st, 2nd, ... draft of a round is accepted, given those before it (the last one holds
   * for all further ones). Every pass runs, but acceptance is drawn by these, the same each time, no token ends the text, and the text says
   * nothing. SKIPSTONE_INVALID_ARGUMENT with SKIPSTONE_VERIFY_REJECTION and lossy drafters. */
  const double* synthetic_acceptance;
  size_t synthetic_acceptance_count; /* at most 31 */
} skipstone_session_params;

/* Greedy, drafting with "asd", coupled verification: the same seed gives the same text on one device, whatever the drafter. */
skipstone_session_params skipstone_session_default_params(void);

/* Whether a session could be made with them: sampling values and drafter; needs no engine, so it can be asked before loading one. */
skipstone_status skipstone_session_check_params(const skipstone_session_params* params);

skipstone_status skipstone_session_create(skipstone_engine* engine, const skipstone_session_params* params, skipstone_session** session);

/* NULL is fine. Not while another thread generates. */
void skipstone_session_free(skipstone_session* session);

/* Forgets the conversation; keeps what the drafter has learned. */
skipstone_status skipstone_session_reset(skipstone_session* session);

/* Appends `count` tokens to the conversation and reads them without continuing it: a beginning that several sessions share is read once. */
skipstone_status skipstone_session_read(skipstone_session* session, const skipstone_token* tokens, size_t count);

/* The conversation becomes that of `from`, a session of the same engine (INVALID_ARGUMENT where it is not): keys and values are copied, not
 * computed again. Neither may be generating. What the drafter has learned stays. */
skipstone_status skipstone_session_take_over(skipstone_session* session, skipstone_session* from);

/* What one token adds to the text. */
typedef struct skipstone_chunk {
  const char* text;      /* whole characters, NUL-terminated; "" while the token is part of an unfinished one */
  size_t bytes;          /* of text, without the NUL */
  skipstone_token token; /* -1 for the last chunk, which only carries what an unfinished character left */
  int32_t drafted;       /* 1: was drafted and accepted; 0: the full model's own token */
} skipstone_chunk;

/* Non-zero stops the generation: it ends with SKIPSTONE_STOP_CANCELLED, which is no error. */
typedef int (*skipstone_chunk_fn)(const skipstone_chunk* chunk, void* user_data);

/* Appends `tokens` to the conversation and continues it by at most `max_tokens`. What came out is then to be had from the functions
 * below, until the session's next call. SKIPSTONE_INVALID_ARGUMENT where the tokens do not fit the context. */
skipstone_status skipstone_session_generate(skipstone_session* session, const skipstone_token* tokens, size_t count, uint32_t max_tokens,
                                            skipstone_chunk_fn chunk, void* user_data);

/* Stops the generation that runs, or else the next one, at its next token. From any thread; async-signal-safe. */
void skipstone_session_cancel(skipstone_session* session);

typedef enum skipstone_stop_reason {
  SKIPSTONE_STOP_MAX_TOKENS = 0,
  SKIPSTONE_STOP_END_TOKEN = 1,
  SKIPSTONE_STOP_CONTEXT_FULL = 2,
  SKIPSTONE_STOP_CANCELLED = 3
} skipstone_stop_reason;

/* "max_tokens", "end_token", "context_full", "cancelled"; "unknown" for other numbers. */
const char* skipstone_stop_reason_name(skipstone_stop_reason reason);

/* The tokens of the last continuation. */
const skipstone_token* skipstone_session_tokens(const skipstone_session* session, size_t* count);

#ifdef __cplusplus
}
#endif

#include "skipstone/convert.h"
#include "skipstone/measure.h"
#include "skipstone/stats.h"

#endif
