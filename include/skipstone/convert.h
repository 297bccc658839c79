/* The part of Skipstone's C API that makes model files. Included by skipstone.h. */
#ifndef SKIPSTONE_CONVERT_H
#define SKIPSTONE_CONVERT_H

#include "skipstone/skipstone.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- converting files --------------------------------------------------------------------------------------------------- */

typedef struct skipstone_convert_params {
  size_t struct_size;
  const char* checkpoint_path; /* a Hugging Face folder: config.json, *.safetensors, tokenizer.model or tokenizer.json */
  const char* output_path;     /* the GGUF file; never stands there half-written */
  const char* type;            /* "F16" (the default), "Q4_K_M", ... (docs/quantizing.md), in upper or lower case */
  uint32_t exit_layer;         /* the layer whose early exit the model was trained for, counted from 1; 0: what the checkpoint says */
  int32_t overwrite;           /* 0: SKIPSTONE_INVALID_ARGUMENT where output_path is there already */
  skipstone_progress_fn progress;
  void* user_data;
} skipstone_convert_params;

skipstone_convert_params skipstone_convert_default_params(void);

/* Writes a Hugging Face checkpoint of the Llama family as a GGUF file; needs no device, and little memory whatever the model's size.
 * docs/quantizing.md says which tensor gets which type.
 * SKIPSTONE_NOT_FOUND for a folder or file that is missing, SKIPSTONE_BAD_FILE for damaged ones and for weights that are not finite,
 * SKIPSTONE_UNSUPPORTED for other architectures and for weights too large for the type. */
skipstone_status skipstone_convert(const skipstone_convert_params* params);

typedef struct skipstone_quantize_params {
  size_t struct_size;
  const char* model_path;  /* a GGUF file; one part of a split model stands for all of it */
  const char* output_path; /* becomes one file, whatever the input was; never stands there half-written */
  const char* type;        /* "Q8_0" (the default), "Q4_K_M", ... (docs/quantizing.md), in upper or lower case */
  int32_t overwrite;       /* 0: SKIPSTONE_INVALID_ARGUMENT where output_path is there already */
  uint32_t threads;        /* 0: one for each core; the file does not depend on it */
  skipstone_progress_fn progress;
  void* user_data;
  const char* sparse;           /* "2:4": of four neighbouring weights of the layers' matrices two stay; NULL: all. F16 and Q8_0 only */
  const char* scores;           /* which: "magnitude" (the default) or "wanda", which weighs with the inputs of a calibration text */
  const char* calibration_path; /* that text, UTF-8; NULL for magnitude */
} skipstone_quantize_params;

skipstone_quantize_params skipstone_quantize_default_params(void);

/* Writes a GGUF file anew with its matrices in another type; needs no device. docs/quantizing.md says which tensor gets
 * which type. Metadata stays, but for what says of which type a file is. SKIPSTONE_UNSUPPORTED for tensors of types that do not run here
 * and for weights too large for the new one, SKIPSTONE_BAD_FILE for weights that are not finite. `json` (may be NULL) gets {"input":
 * {"path", "bytes", "tensor_types": [{"type", "tensors", "weights", "bytes"}]}, "output": {the same}}. */
skipstone_status skipstone_quantize(const skipstone_quantize_params* params, char** json);

#ifdef __cplusplus
}
#endif

#endif
