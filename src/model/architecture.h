// The differences between model families, as data: a family is a row of `architectures()`; nothing else in the program knows its name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/layer_config.h"
#include "model/tensor_roles.h"

namespace skipstone::model {

/// How RoPE pairs a head's dimensions: neighbours (2i, 2i+1) as GGUF stores Llama, or halves (i, i + rope_dim/2).
enum class RopePairs : std::uint8_t { neighbours, halves };

/// Metadata keys that only some families honour; in the files of others they must be absent or neutral.
enum Honours : std::uint8_t {
  honours_scales = 1,        ///< embedding_scale, residual_scale, attention.scale, logit_scale
  honours_softcaps = 2,      ///< attn_logit_softcapping, final_logit_softcapping
  honours_temperature = 4,   ///< attention.temperature_scale
  honours_long_rope = 8,     ///< rope_factors_short, rope_factors_long
  needs_softcaps = 16,       ///< files without the softcaps' keys are incomplete
  honours_rope_switch = 32,  ///< rope.scaling.finetuned: false where no layer rotates
  scales_logits = 64,        ///< logit_scale as a factor; honours_scales divides by it
};

/// A role's name in a family's files where it is not TensorRole::name, or in its checkpoints where it is not TensorRole::huggingface.
struct RoleName {
  Role role;
  std::string_view name;
};

/// The default of transformers for a key that config.json lacks.
struct ConfigDefault {
  std::string_view key;
  double value;
};

/// Whether a class of transformers honours config.json's "sliding_window".
enum class Sliding : std::uint8_t { ignored, honoured, if_asked };  ///< if_asked: where "use_sliding_window" is true

/// A name in config.json's "architectures".
struct CheckpointClass {
  std::string_view name{};
  Sliding sliding = Sliding::ignored;
  std::uint32_t full_every = 0;   ///< of sliding-window layers every n-th is full instead, where "layer_types" is absent; 0: none
  std::string_view wrapper{};     ///< the class of a multimodal model whose text part it is; "" for none
  std::string_view model_type{};  ///< of the text part, which tells a wrapper's classes apart
};

/// Keys of a family's GGUF files besides the common ones, and properties of its checkpoints.
enum CheckpointTraits : std::uint16_t {
  writes_vocabulary = 1,        ///< vocab_size
  writes_rope_dim = 2,          ///< rope.dimension_count also where heads rotate as a whole
  writes_no_window = 4,         ///< attention.sliding_window also without a window, as 0
  writes_original_context = 8,  ///< rope.scaling.original_context_length also where nothing scales
  omits_rope_base = 16,         ///< rope.freq_base where it is 10000
  partial_rotary = 32,          ///< honours partial_rotary_factor
  norms_less_one = 64,          ///< norm weights are stored as w - 1
  interleaved_heads = 128,      ///< rows of Q and K pair as the GGUF file's do; else as halves
  writes_rope_switch = 256,     ///< rope.scaling.finetuned; where it is false, context_length is 2^20
  writes_no_experts = 512,      ///< expert_count and expert_used_count, as 0, and expert_shared_feed_forward_length
  adjusts_ffn = 1024,           ///< honours block_auto_adjust_ff_dim
  writes_rope_sections = 2048,  ///< rope.dimension_sections
  has_prediction = 4096,        ///< honours mtp_num_hidden_layers: heads for multi-token prediction
  writes_no_scaling = 8192,     ///< rope.scaling.type also where nothing scales, as "none"
};

/// Facts that the files of a family's tokenizers do not state.
struct TokenizerFacts {
  std::string_view pre{};        ///< the family's name for its pre-tokenizer, where several names mean one rule
  std::string_view eot{};        ///< spelling of the token that ends a turn
  std::string_view unknown{};    ///< spelling of the token for text that cannot be spelled
  bool no_space_prefix = false;  ///< SentencePiece that puts no space in front of a text and drops none, whatever tokenizer.model says
};

/// A family's Hugging Face checkpoints.
struct Checkpoints {
  std::span<const CheckpointClass> classes{};
  std::span<const RoleName> names{};
  std::uint16_t traits = 0;  ///< CheckpointTraits
  std::span<const ConfigDefault> defaults{};
  TokenizerFacts tokenizer{};
  std::string_view epsilon{};  ///< config.json's key for that of norms where it is another than most families'
};

struct Architecture {
  std::string_view name;  ///< general.architecture, also the prefix of its keys
  RopePairs rope_pairs = RopePairs::neighbours;
  LayerConfig layer{};                    ///< common to all layers; files add widths and scales, and set_positions() windows and rotation
  std::uint8_t honours = 0;               ///< Honours
  Biases biases = Biases::optional;       ///< those that a file must have
  float score_scale = 0.0f;               ///< of the products of Q and K, which no key says; 0: 1 / sqrt(head size)
  bool token_inputs = false;              ///< files may have per-layer embeddings
  bool window_heads = false;              ///< layers with a sliding window have heads of their own (read_window_heads)
  std::uint32_t unrotated_every = 0;      ///< every n-th layer does not rotate; 0: all do
  std::uint32_t full_every = 0;           ///< of sliding-window layers every n-th is full instead; 0: as the file says, else none
  float local_rope_base = 0.0f;           ///< above 0: sliding-window layers rotate by rope.freq_base_swa, this if absent
  bool whole_yarn_pairs = true;           ///< where files do not say it: YaRN's two limits are rounded outwards to whole pairs
  bool optional_qk_norm = false;          ///< files may lack the norms of Q and K
  bool unscaled_windows = false;          ///< only full layers scale positions
  bool unrotated_full = false;            ///< where some layers have a sliding window, full layers do not rotate
  bool scaled_embedding = false;          ///< embeddings are multiplied by sqrt(width)
  std::uint32_t width_scaled_layers = 0;  ///< models of this many layers scale scores by 1 / sqrt(width / heads); their files do not say so
  Mixer recurrent = std::monostate();     ///< of layers without attention; files add its sizes, and say which layers those are
  std::uint32_t attention_every = 0;      ///< where files do not say it, every n-th layer has attention; 0: all have
  bool latent_attention = false;          ///< Attention::latents, whose sizes files have
  bool one_sublayer = false;              ///< a layer is a mixer or a feed-forward network
  bool layer_norm_epsilon = false;        ///< RMS norms whose key for epsilon is that of layer norms
  std::optional<Experts> experts{};       ///< instead of the MLP where files count them; they add sizes, and may change the router
  std::span<const RoleName> tensor_names{};
  std::span<const RoleName> head_names{};  ///< before tensor_names, in heads for multi-token prediction
  Checkpoints checkpoints{};

  std::string_view epsilon_key() const {
    const bool layer_norms = subtracts_mean(layer.norm_before) || subtracts_mean(layer.norm_after);
    return layer_norms || layer_norm_epsilon ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
  }
};

/// Which of `layers` layers have a sliding window: all but every `full_every`-th, which is full; 0: all.
std::vector<bool> windows_but_every(std::uint32_t full_every, std::uint32_t layers);

std::span<const Architecture> architectures();
/// Whether a layer (for roles of the model: any) of the family's files must have the role's bias, where it may have one (has_bias).
bool needs_bias(const Architecture& family, const LayerConfig& layer, Role role);

/// "llama, exaone4, ...", for messages.
const char* architecture_names();
/// nullptr if there is none.
const Architecture* find_architecture(std::string_view name);

}  // namespace skipstone::model
