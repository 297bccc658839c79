/* Skipstone's C API for making model files and profiles: convert, quantize, imatrix, tune. In a library of its own (CMake:
 * skipstone::tools), which running models does not need. */
#ifndef SKIPSTONE_TOOLS_H
#define SKIPSTONE_TOOLS_H

#include "skipstone/skipstone.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- converting files --------------------------------------------------------------------------------------------------- */

typedef struct skipstone_convert_params {
  size_t struct_size;
  const char* checkpoint_path; /* a Hugging Face folder: config.json, *.safetensors, tokenizer.model or tokenizer.json */
  const char* output_path;     /* the GGUF file; never exists half-written */
  const char* type;            /* "F16" (the default), "Q4_K_M", ... (docs/quantizing.md), in upper or lower case */
  uint32_t exit_layer;         /* the layer whose early exit the model was trained for, counted from 1; 0: what the checkpoint says */
  int32_t overwrite;           /* 0: SKIPSTONE_INVALID_ARGUMENT where output_path is there already */
  skipstone_progress_fn progress;
  void* user_data;
  const char* pre_tokenizer; /* the rule that the file is to name for byte-level BPE, as in skipstone_engine_params; NULL or "": the one
                                that the checkpoint's tokenizer.json describes */
} skipstone_convert_params;

SKIPSTONE_API void skipstone_convert_params_init(skipstone_convert_params* params, size_t struct_size);

/* Writes a Hugging Face checkpoint (docs/converting.md) as a GGUF file; needs no device, and little memory whatever the model's size.
 * docs/quantizing.md says which tensor gets which type.
 * SKIPSTONE_NOT_FOUND for a folder or file that is missing, SKIPSTONE_BAD_FILE for damaged ones and for weights that are not finite,
 * SKIPSTONE_UNSUPPORTED for other architectures and for weights too large for the type. */
SKIPSTONE_API skipstone_status skipstone_convert(const skipstone_convert_params* params);

typedef struct skipstone_quantize_params {
  size_t struct_size;
  const char* model_path;  /* a GGUF file; one part of a split model represents all of it */
  const char* output_path; /* becomes one file, whatever the input was; never exists half-written */
  const char* type;        /* "Q8_0" (the default), "Q4_K_M", ... (docs/quantizing.md), in upper or lower case */
  int32_t overwrite;       /* 0: SKIPSTONE_INVALID_ARGUMENT where output_path is there already */
  uint32_t threads;        /* 0: one for each core; the file does not depend on it */
  skipstone_progress_fn progress;
  void* user_data;
  const char* sparse;           /* "2:4": of four neighbouring weights of the layers' matrices two stay; NULL: all. F16 and Q8_0 only */
  const char* scores;           /* which: "magnitude" (the default) or "wanda", which weighs with the inputs of a calibration text */
  const char* calibration_path; /* that text, UTF-8; NULL for magnitude */
  const char* imatrix_path;     /* an importance matrix of the model (skipstone_imatrix(), llama-imatrix): the columns of large inputs are
                                   rounded more carefully; NULL: all alike */
} skipstone_quantize_params;

SKIPSTONE_API void skipstone_quantize_params_init(skipstone_quantize_params* params, size_t struct_size);

/* Writes a GGUF file anew with its matrices in another type; needs no device. docs/quantizing.md says which tensor gets
 * which type. Metadata stays, but for what says of which type a file is, by which importance matrix it was rounded, and which part of a
 * split model it is. SKIPSTONE_UNSUPPORTED for tensors of types that do not run here and for weights too large for the new one,
 * SKIPSTONE_BAD_FILE for weights that are not finite. `json` (may be NULL) gets {"input": {"path", "bytes", "tensor_types": [{"type",
 * "tensors", "weights", "bytes"}]}, "output": {the same}}. */
SKIPSTONE_API skipstone_status skipstone_quantize(const skipstone_quantize_params* params, char** json);

typedef struct skipstone_imatrix_params {
  size_t struct_size;
  const char* model_path;  /* a GGUF file; one part of a split model represents all of it */
  const char* text_path;   /* UTF-8; whole chunks of it are read */
  const char* output_path; /* the importance matrix, a GGUF file; never exists half-written */
  uint32_t chunk_tokens;   /* of a sequence, at most the model's context; default 512 */
  uint32_t chunks;         /* to read; 0: all of the text */
  uint32_t threads;        /* 0: one for each core; the file does not depend on it */
  int32_t overwrite;       /* 0: SKIPSTONE_INVALID_ARGUMENT where output_path is there already */
  skipstone_progress_fn progress;
  void* user_data;
} skipstone_imatrix_params;

SKIPSTONE_API void skipstone_imatrix_params_init(skipstone_imatrix_params* params, size_t struct_size);

/* Reads a text with a model on the host and writes the mean squares of the inputs of its layers' matrices, in the form of llama.cpp's
 * llama-imatrix (docs/quantizing.md). SKIPSTONE_INVALID_ARGUMENT for a text shorter than a chunk. `json` (may be NULL) gets {"path",
 * "bytes", "entries", "chunks", "chunk_tokens"}. */
SKIPSTONE_API skipstone_status skipstone_imatrix(const skipstone_imatrix_params* params, char** json);

/* ---- searching a skip set ----------------------------------------------------------------------------------------------- */

/* Progress of a search. */
typedef struct skipstone_tune_step {
  const char* stage;    /* "writing texts", "measuring costs", "search", "random search", "real runs" */
  double done;          /* of the stage, 0 to 1 */
  double seconds;       /* since the start */
  uint32_t evaluations; /* sets evaluated */
  double speedup;       /* expected of the best set so far, against plain decoding; 0 before there is one */
  const char* skip_set; /* that set; "" */
  const char* strategy; /* that found it: "asd", "bayes" or "random"; "" */
  size_t struct_size;   /* set by the library */
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
                               that was stopped continues where it was */
  double minutes;           /* for everything; default 8 */
  uint32_t iterations;      /* sets that the search evaluates; 0: what there is time for, less where it stops paying */
  uint32_t tokens;          /* of each text; default 64 */
  uint64_t seed;
  int32_t baseline; /* default 1: a random search evaluates as many sets, to compare with */
  skipstone_tune_fn progress;
  void* user_data;
} skipstone_tune_params;

SKIPSTONE_API void skipstone_tune_params_init(skipstone_tune_params* params, size_t struct_size);

/* Searches the sublayers that drafts of the engine's model leave out ("skip:..."), with the constants to draft with, by Bayesian
 * optimisation of the expected speed-up; runs the best of it, of Draft on the Fly's sets and of a random search beside plain decoding; and
 * writes the fastest set as a profile ("skip:PROFILE.json"). Takes memory for some sessions and one more KV cache for each text. Not while
 * a session of the engine generates. {"profile": the profile as the file has it, "interrupted", "stopped_early", "evaluations", "resumed",
 * "prompts": {"search", "runs"}, "runs", "seconds": {"texts", "costs", "search", "runs", "all"}, "strategies": [{"strategy", "evaluations",
 * "seconds", "best", "best_after": [...]}], "candidates": [{"name", "draft", "strategy", "skip_set", "skipped", "expected": {...} or null,
 * "speedup", "quartiles": [low, high], "acceptance", "tokens_per_round"}], "costs": [{"rows", "attention", "mlp", "rest"}]}.
 * SKIPSTONE_INVALID_ARGUMENT where no prompt fits the context, and where the state beside the profile belongs to another model or other
 * prompts. Stopped before there is anything to keep: SKIPSTONE_CANCELLED. */
SKIPSTONE_API skipstone_status skipstone_tune(skipstone_engine* engine, const skipstone_tune_params* params, char** json);

#ifdef __cplusplus
}
#endif

#endif
