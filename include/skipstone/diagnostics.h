/* The part of Skipstone's C API that inspects devices and model files. Included by skipstone.h. */
#ifndef SKIPSTONE_DIAGNOSTICS_H
#define SKIPSTONE_DIAGNOSTICS_H

#include "skipstone/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every Vulkan device, and which one `wanted` would take and why. `wanted`: a number of the list or a part of a name; NULL or "" for
 * what SKIPSTONE_DEVICE says, else the best. {"devices": [{"index", "name", "chosen", "reason", "unsuitable", "tier", ...}]}
 * SKIPSTONE_NO_DEVICE without a loader or a driver. */
SKIPSTONE_API skipstone_status skipstone_list_devices(const char* wanted, char** json);

typedef struct skipstone_inspect_params {
  size_t struct_size;
  const char* model_path;
  uint32_t context;             /* tokens that the memory plan is for; 0: what the model was trained for, at most 4096 */
  int32_t kv_type;              /* skipstone_kv_type */
  const char* pre_tokenizer;    /* as in skipstone_engine_params */
  int32_t kv_type_k, kv_type_v; /* as in skipstone_engine_params */
  const char* mtp_path;         /* as in skipstone_engine_params */
} skipstone_inspect_params;

SKIPSTONE_API void skipstone_inspect_params_init(skipstone_inspect_params* params, size_t struct_size);

/* Contents of a GGUF file; needs no device. {"path", "mtp_path": as given, "version", "bytes", "parameters", "metadata": [...],
 * "tensor_types": [...], "tensors": [...], "model": {...} or null, "unsupported": "" or why it cannot run, "memory_plan": {...} or null}.
 * What the file of mtp_path adds is among metadata and tensors. Of "memory_plan": "experts", bytes of "weights" that
 * can stay in host memory (skipstone_engine_params.experts_on_host). Of "model": "description", lines in words; "layer_groups": [{"first",
 * "last", "norm_before", "norm_after", "parallel", "token_input", "output_scale", ...}], neighbouring layers that compute alike; numbers of
 * RoPE, scales and softcaps, 0 for none;
 * "prediction_heads", how many heads for multi-token prediction the file has.
 * Groups of layers with a mixer: "mixer" and, of "attention", "window": 0 for none, "rotates", "local_rope", "qk_norm", "fused_qkv",
 * "output_gate", "layer_kv_heads", "layer_head_dim", "value_norm", "keys_as_values", "sinks", "kv_latent", "q_latent", "fused_kv";
 * of "short_conv", "kernel"; of "gated_delta_net", "kernel", "key_heads", "value_heads", "key_dim", "value_dim"; of "mamba2",
 * "kernel", "mixer_heads", "mixer_head_dim", "groups", "state_size". With an MLP: "mlp", "ffn", "fused_gate_up". With experts:
 * "experts", "experts_used", "expert_mlp", "expert_ffn", "shared_ffn", "shared_gate", "latent", "expert_norms",
 * "fused_expert_gate_up", "gating", "corrected", "renormalised", "expert_groups", "expert_groups_used". */
SKIPSTONE_API skipstone_status skipstone_inspect(const skipstone_inspect_params* params, char** json);

/* The model families that this library runs, by their names in GGUF files (general.architecture): "llama, exaone4, ...". Static text. */
SKIPSTONE_API const char* skipstone_architectures(void);

/* One case of the self-test. `name` says kernel, format and shape; `detail` what differed ("" where it passed). */
typedef struct skipstone_check {
  const char* kernel;
  const char* name;
  const char* detail;
  int32_t passed;
  size_t struct_size; /* set by the library */
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

SKIPSTONE_API void skipstone_doctor_params_init(skipstone_doctor_params* params, size_t struct_size);

/* Runs every kernel on the device against the scalar reference and compares rows by bytes; measures copy bandwidth.
 * SKIPSTONE_OK means that it ran: {"passed": bool, "cases", "failures", "kernels": [{"name", "cases", "failures"}],
 * "copy_bytes_per_second", "denormals": {"floats_kept", "halves_kept"}, "validation_messages", "device": {...}, "version", "commit"} says
 * what came out. */
SKIPSTONE_API skipstone_status skipstone_doctor(const skipstone_doctor_params* params, char** json);

#ifdef __cplusplus
}
#endif

#endif
