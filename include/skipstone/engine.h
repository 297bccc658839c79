/* The part of Skipstone's C API that loads a model onto a device and turns text into its tokens. Included by skipstone.h. */
#ifndef SKIPSTONE_ENGINE_H
#define SKIPSTONE_ENGINE_H

#include "skipstone/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum skipstone_kv_type {
  SKIPSTONE_KV_AUTOMATIC = 0, /**< f16 */
  SKIPSTONE_KV_F16 = 1,
  SKIPSTONE_KV_F32 = 2,
  /* Quants in blocks of 32 dimensions, for models whose heads are multiples of 32: */
  SKIPSTONE_KV_Q8_0 = 3, /**< of 8 bits, with a scale */
  SKIPSTONE_KV_Q4_0 = 4, /**< of 4 bits, with a scale */
  SKIPSTONE_KV_Q5_1 = 5  /**< of 5 bits, with a scale and a minimum */
} skipstone_kv_type;

/* ---- engine: a model on a device ---------------------------------------------------------------------------------------- */

typedef struct skipstone_engine skipstone_engine;

/* Where the kernels' choices (docs/tuning.md) come from. No text depends on it. */
typedef enum skipstone_tuning {
  SKIPSTONE_TUNING_AUTOMATIC = 0, /* earlier measurements; on GPUs, measured now (some seconds) where there are none */
  SKIPSTONE_TUNING_OFF = 1,       /* the built-in table */
  SKIPSTONE_TUNING_FIRST_USE = 2  /* as AUTOMATIC, but measured on CPU devices too; their drivers may take half a minute */
} skipstone_tuning;

/* Whether a new conversation that shares a prefix with an earlier one reuses its keys and values, in whole pages of 64 tokens. The least
 * recently used pages are evicted when pages run out. */
typedef enum skipstone_prefixes {
  SKIPSTONE_PREFIXES_OFF = 0,
  SKIPSTONE_PREFIXES_EXACT = 1, /* tokens read as prompts alone: no text depends on what was cached */
  SKIPSTONE_PREFIXES_FAST = 2   /* generated text too, whose keys and values have other last bits: a text may differ in rare places */
} skipstone_prefixes;

/* How passes of decoding multiply by weights. Either way a drafter changes no text; texts of the two may differ from each other. */
typedef enum skipstone_math {
  SKIPSTONE_MATH_F32 = 0,
  SKIPSTONE_MATH_MATRIX = 1,   /* both factors rounded to halves, on the device's matrix units: SKIPSTONE_UNSUPPORTED with the reason where
                                * device, driver or build cannot */
  SKIPSTONE_MATH_AUTOMATIC = 2 /* MATRIX on GPUs that are known to be fast with it, where it works; else F32 */
} skipstone_math;

/* Device memory that several engines share (skipstone_engine_params.memory_account). */
typedef struct skipstone_memory_account skipstone_memory_account;

/* Called when an engine of the account needs `bytes` that the limit or the device does not leave, on the thread of the call that needs them.
 * It may free other engines of the account, and must not use the one that the memory is for. Non-zero if it has freed memory: the library
 * tries again. 0: the call fails with SKIPSTONE_OUT_OF_MEMORY. Not called for more bytes than the limit, nor to load an engine that has no
 * room on its devices even without the others; and for a KV cache that grows only for what the call at hand needs. */
typedef int (*skipstone_make_room_fn)(uint64_t bytes, void* user_data);

/* `limit`: bytes that the engines of the account and their sessions together never pass; 0: what the device has. `make_room` may be NULL; it
 * and `user_data` have to stay valid until the last of these engines is freed. */
SKIPSTONE_API skipstone_status skipstone_memory_account_create(uint64_t limit, skipstone_make_room_fn make_room, void* user_data,
                                                               skipstone_memory_account** account);

/* Bytes that the account's engines and their sessions hold now; 0 for NULL. */
SKIPSTONE_API uint64_t skipstone_memory_account_held(const skipstone_memory_account* account);

/* Its engines keep what they need of it. NULL is fine. */
SKIPSTONE_API void skipstone_memory_account_free(skipstone_memory_account* account);

struct skipstone_vulkan_host;

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
   * SKIPSTONE_INVALID_ARGUMENT, listing what exists, for other names and types. */
  const char* synthetic;
  /* Device memory, in bytes, that the engine and its sessions together never pass: planned against, and SKIPSTONE_OUT_OF_MEMORY with the
   * numbers where more would be needed. It is one limit for all of `devices`, of a job's ranks for the first one's part. Memory that drivers
   * keep of their own is not counted, nor are experts in host memory (experts_on_host). 0: what the device has. */
  uint64_t memory_limit;
  /* skipstone/vulkan.h: the device of the program itself; `device`, `validation` and `low_priority` do not matter then. NULL: one of the
   * engine's own. The struct is read during the call alone. */
  const struct skipstone_vulkan_host* vulkan;
  int32_t low_priority; /* 1: other programs' work on the device goes first, where the driver knows priorities */
  /* Instead of model_path, a GGUF file that the program has open (-1: none): read by place during the call alone, never closed, its
   * position neither used nor moved. It has to be a regular file. Parts of split models are SKIPSTONE_UNSUPPORTED here and in model_data:
   * their other parts are found by name. */
  int32_t model_fd;
  /* Instead of model_path, the bytes of a GGUF file, which have to stay as they are during the call alone. */
  const void* model_data;
  /* How many bytes model_data has; or how many of model_fd's file are the model, from model_offset on (0: all up to its end). */
  uint64_t model_bytes;
  uint64_t model_offset; /* of model_fd alone: for a model inside a larger file */
  /* How a byte-level BPE tokenizer splits texts into words, in place of the rule that the model's file names (tokenizer.ggml.pre): for
   * files that name one which this library does not know, or the wrong one. NULL or "": the file's. SKIPSTONE_INVALID_ARGUMENT with all
   * names for one that is not known, and where the tokenizer is of another kind. */
  const char* pre_tokenizer;
  int32_t prefixes;     /* skipstone_prefixes */
  uint32_t pool_tokens; /* that the KV cache of all sessions has room for at first; 0: one context. It grows where sessions need more */
  int32_t math;         /* skipstone_math */
  /* Instead of `device`, several with some of the model's layers each: "0,1" (by free memory), or "0:20,1:12" (numbers of layers).
   * Embedding and head are on the first. Texts are those of one device where all have the same driver. NULL or "": one device. */
  const char* devices;
  uint64_t transfer_microseconds; /* for measurements: added to each transfer of rows from one device to the next */
  /* Instead of memory_limit: memory that the engine shares with others. Read during the call alone. NULL: none */
  const skipstone_memory_account* memory_account;
  /* skipstone_kv_type of keys and of values; SKIPSTONE_KV_AUTOMATIC: as kv_type says for both */
  int32_t kv_type_k, kv_type_v;
  /* A second GGUF file with heads for multi-token prediction, as published beside models without any (mtp-NAME.gguf). NULL or "": none.
   * SKIPSTONE_INVALID_ARGUMENT for a file without a head, the head of another model, and models that have one. */
  const char* mtp_path;
  /* Mixtures of experts: of how many layers, from the first one on, the experts stay in host memory, where the device reads them; the text
   * is the same. More than the model has: all; a model without experts is warned of. Default -1: the fewest with which the model fits its
   * devices and memory_limit. */
  int32_t experts_on_host;
} skipstone_engine_params;

SKIPSTONE_API void skipstone_engine_params_init(skipstone_engine_params* params, size_t struct_size);

/* The names that `synthetic` knows, separated by ", ". */
SKIPSTONE_API const char* skipstone_synthetic_models(void);

/* Opens the file, plans memory (SKIPSTONE_OUT_OF_MEMORY with the numbers, before anything is allocated), loads and compiles. */
SKIPSTONE_API skipstone_status skipstone_engine_load(const skipstone_engine_params* params, skipstone_engine** engine);

/* The parts of a model that each device would hold, without loading it: the devices that params->devices names, or all GPUs, or the best.
 * {"stages": [{"place", "device", "driver", "layers": [first, one past the last], "weights", "kv", "activations": bytes, "available":
 * bytes, "host_weights": bytes of its layers' experts in host memory, "experts_on_host": as in skipstone_engine_info}]}. To be freed with
 * skipstone_string_free(). Fails as skipstone_engine_load() where it would not fit. */
SKIPSTONE_API skipstone_status skipstone_plan_devices(const skipstone_engine_params* params, char** json);

/* Sessions that still exist keep what they need. NULL is fine. */
SKIPSTONE_API void skipstone_engine_free(skipstone_engine* engine);

typedef struct skipstone_engine_info {
  size_t struct_size; /* set by the caller: sizeof(skipstone_engine_info) */
  const char* model_name;
  const char* architecture;
  const char* fingerprint; /* of the model file, 16 hexadecimal digits */
  const char* device_name;
  const char* driver;
  const char* tier;
  uint32_t layers, vocabulary, context;
  uint64_t weights_bytes, kv_bytes, activation_bytes; /* as planned for devices: without experts in host memory */
  uint64_t device_bytes;                              /* held now; of layers on other devices: when those last had no work */
  uint64_t validation_messages;
  uint32_t exit_layer;         /* the layer that the model was trained to exit early at, counted from 1; 0: it does not say */
  uint32_t max_rows;           /* rows that one pass can verify, hence the most of skipstone_work.rows */
  int32_t kv_type;             /* skipstone_kv_type of the cached keys as they are: never SKIPSTONE_KV_AUTOMATIC */
  const char* model_type;      /* the tensor type that most parameters have: "Q4_0" */
  uint64_t parameters;         /* of the model */
  uint64_t tensor_bytes;       /* of its tensors, as a file has them */
  uint64_t bytes_per_token;    /* of weights that a pass over one token reads: not the embedding's other rows and the experts not chosen */
  uint64_t kv_bytes_per_token; /* of keys and values that it reads for each token in the cache */
  int32_t kv_type_v;           /* skipstone_kv_type of the cached values, likewise */
  uint32_t context_trained;    /* tokens of the longest texts that the model was trained for; 0: the file does not say. A longer context
                                  is allowed: what a model writes past them may be nonsense, of which the program warns */
  const char* device_kind;     /* of the first device: "discrete GPU", "integrated GPU", "virtual GPU", "CPU" or "other" */
  uint32_t experts_on_host;    /* layers of the model, from the first one on, whose experts are in host memory */
  uint64_t host_bytes;         /* of experts there, held now; device_bytes does not count them */
} skipstone_engine_info;

/* Totals over the engine's sessions: {"pages": {"tokens": of a page, "all", "used", "shared": by several sessions},
 * "sliding_pages": the same of sliding-window layers, which free what no later token sees, "recurrent_pages": of recurrent layers, which
 * free it too, "recurrent_states": slots of their states, "prefixes": {"pages", "sliding_pages", "recurrent_pages", "recurrent_states",
 * "hits", "tokens": that prompts did not have to read}, "passes": {"decoding", "rows": of these, "batched": batched over several sessions,
 * "prompt", "prompt_rows"}, "stages": of engines on several devices, as skipstone_plan_devices() has them, with "held" and
 * "host_held": bytes now}. To be freed with skipstone_string_free(). */
SKIPSTONE_API skipstone_status skipstone_engine_report(const skipstone_engine* engine, char** json);

SKIPSTONE_API skipstone_status skipstone_engine_get_info(const skipstone_engine* engine, skipstone_engine_info* info);

/* ---- tokens ------------------------------------------------------------------------------------------------------------- */

typedef int32_t skipstone_token;

/* Text to tokens. `add_special`: BOS and EOS as the model says. `parse_special`: special tokens that are written out in the text
 * become those tokens. `count` gets the number of tokens; where it is more than `capacity` nothing is written to `tokens`, and the call
 * fails unless capacity is 0. SKIPSTONE_INVALID_ARGUMENT for text that is not UTF-8. */
SKIPSTONE_API skipstone_status skipstone_tokenize(const skipstone_engine* engine, const char* text, size_t bytes, int add_special, int parse_special,
                                    skipstone_token* tokens, size_t capacity, size_t* count);

/* The same in one call, for texts of any length: `*tokens` belongs to the caller (skipstone_tokens_free()), and is NULL where the call
 * fails. `progress` (may be NULL) is asked every millisecond or so whether to continue; its `done` stays 0. Once stopped, the call ends
 * with SKIPSTONE_CANCELLED. */
SKIPSTONE_API skipstone_status skipstone_tokenize_polled(const skipstone_engine* engine, const char* text, size_t bytes, int add_special,
                                                         int parse_special, skipstone_progress_fn progress, void* user_data,
                                                         skipstone_token** tokens, size_t* count);

/* NULL is fine. */
SKIPSTONE_API void skipstone_tokens_free(skipstone_token* tokens);

/* Tokens to text. The text is followed by a NUL that `bytes` (may be NULL) does not count. */
SKIPSTONE_API skipstone_status skipstone_detokenize(const skipstone_engine* engine, const skipstone_token* tokens, size_t count, char** text,
                                      size_t* bytes);

/* The same; `progress` as for skipstone_tokenize_polled(). */
SKIPSTONE_API skipstone_status skipstone_detokenize_polled(const skipstone_engine* engine, const skipstone_token* tokens, size_t count,
                                                           skipstone_progress_fn progress, void* user_data, char** text, size_t* bytes);

/* The bytes of one token, not necessarily whole characters; empty for control tokens. */
SKIPSTONE_API skipstone_status skipstone_token_piece(const skipstone_engine* engine, skipstone_token token, char** text, size_t* bytes);

/* Special tokens as a model's file names them. Which of them a prompt needs, and where, depends on the model's training. */
typedef enum skipstone_special_token {
  SKIPSTONE_TOKEN_BOS = 0,     /* begins a text */
  SKIPSTONE_TOKEN_EOS = 1,     /* ends a text */
  SKIPSTONE_TOKEN_EOT = 2,     /* ends a turn */
  SKIPSTONE_TOKEN_EOM = 3,     /* ends a message that expects an answer, such as a call of a tool */
  SKIPSTONE_TOKEN_UNKNOWN = 4, /* replaces text that cannot be spelled */
  SKIPSTONE_TOKEN_PADDING = 5,
  SKIPSTONE_TOKEN_FILL_PREFIX = 6, /* of models that fill gaps ("fill in the middle"): in front of the text before the gap, */
  SKIPSTONE_TOKEN_FILL_SUFFIX = 7, /* of the text after it, */
  SKIPSTONE_TOKEN_FILL_MIDDLE = 8  /* and of what fills it */
} skipstone_special_token;

/* `kind` is a skipstone_special_token. -1 where the model has no such token, or no tokenizer. */
SKIPSTONE_API skipstone_token skipstone_engine_special_token(const skipstone_engine* engine, int32_t kind);

/* 1 for every token at which a generation stops: EOS, EOT, EOM, and control tokens with the name of such a one ("<|im_end|>"). Else 0. */
SKIPSTONE_API int32_t skipstone_engine_ends_generation(const skipstone_engine* engine, skipstone_token token);

#ifdef __cplusplus
}
#endif

#endif
