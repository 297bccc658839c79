#include <algorithm>
#include <array>

#include "model/architecture.h"

namespace skipstone::model {

namespace {

constexpr LayerConfig with_head_norms{.mixer = Attention{.qk_norm = QkNorm::head}};
constexpr LayerConfig fused{.mixer = Attention{.fused_qkv = true}, .feedforward = Mlp{.fused_gate_up = true}};
constexpr LayerConfig gemma2_layer{.norm_after = Norm::rms, .feedforward = Mlp{.activation = Activation::gated_gelu}};
constexpr LayerConfig gemma3_layer{
    .norm_after = Norm::rms, .mixer = Attention{.qk_norm = QkNorm::head}, .feedforward = Mlp{.activation = Activation::gated_gelu}};
constexpr LayerConfig gemma4_layer{.norm_after = Norm::rms,
                                   .mixer = Attention{.qk_norm = QkNorm::head, .value_norm = true},
                                   .feedforward = Mlp{.activation = Activation::gated_gelu},
                                   .output_scale = true};
constexpr LayerConfig glm4_layer{.norm_after = Norm::rms, .feedforward = Mlp{.fused_gate_up = true}};
constexpr LayerConfig olmo2_layer{.norm_before = Norm::none, .norm_after = Norm::rms, .mixer = Attention{.qk_norm = QkNorm::width}};
constexpr LayerConfig exaone4_layer{.norm_before = Norm::none, .norm_after = Norm::rms, .mixer = Attention{.qk_norm = QkNorm::head}};
constexpr LayerConfig cohere2_layer{.norm_before = Norm::layer_without_bias, .parallel = true};
constexpr LayerConfig starcoder2_layer{.norm_before = Norm::layer, .feedforward = Mlp{.activation = Activation::gelu}};

constexpr LayerConfig qwen35_layer{.mixer = Attention{.qk_norm = QkNorm::head, .output_gate = true}};
constexpr LayerConfig gpt_oss_layer{.mixer = Attention{.sinks = true}};
constexpr LayerConfig nemotron_h_layer{.mixer = Attention{.rotates = false}, .feedforward = Mlp{.activation = Activation::squared_relu}};

// Routers of families: the rows of llama.cpp (0.7.0) for files that do not say it.
constexpr Experts qwen3_experts{.renormalised = true};
constexpr Experts qwen35_experts{.renormalised = true, .shared_gate = true};
constexpr Experts lfm2_experts{.gating = Gating::sigmoid, .corrected = true, .renormalised = true};
constexpr Experts deepseek2_experts{.corrected = true};  // of the sigmoids that later files choose
constexpr Experts gemma4_experts{.renormalised = true, .own_norms = true, .activation = Activation::gated_gelu};
constexpr Experts granite_experts{.gating = Gating::softmax_of_chosen};
constexpr Experts glm4moe_experts{.gating = Gating::sigmoid, .corrected = true, .renormalised = true};
constexpr Experts gpt_oss_experts{.gating = Gating::softmax_of_chosen, .activation = Activation::clamped_silu};
constexpr Experts nemotron_h_experts{.gating = Gating::sigmoid, .corrected = true, .activation = Activation::squared_relu};

constexpr std::array deepseek2_names{RoleName{Role::q_norm, "attn_q_a_norm"}, RoleName{Role::k_norm, "attn_kv_a_norm"}};
/// Its shared expert has the names of an MLP.
constexpr std::array gemma4_names{RoleName{Role::shared_gate, "ffn_gate"}, RoleName{Role::shared_up, "ffn_up"},
                                  RoleName{Role::shared_down, "ffn_down"}};
constexpr std::array lfm2_names{RoleName{Role::output_norm, "token_embd_norm"}};
constexpr std::array nemotron_h_names{RoleName{Role::ffn_norm, "attn_norm"}};
constexpr std::array nemotron_h_head_names{RoleName{Role::ffn_norm, "post_attention_norm"}};
/// The norm before the feed-forward network, after attention and before any norm of its output.
constexpr std::array post_attention_names{RoleName{Role::ffn_norm, "post_attention_norm"}};

// The classes' names, their defaults and the names of their weights: the configuration_*.py and modeling_*.py of transformers
// (https://github.com/huggingface/transformers).
constexpr std::array llama_classes{CheckpointClass{"LlamaForCausalLM"}, CheckpointClass{"LLaMAForCausalLM"},
                                   CheckpointClass{.name = "MistralForCausalLM",
                                                   .sliding = Sliding::honoured,
                                                   .wrapper = "Mistral3ForConditionalGeneration",
                                                   .model_type = "mistral"}};
constexpr std::array cohere2_classes{CheckpointClass{.name = "Cohere2ForCausalLM", .sliding = Sliding::honoured, .full_every = 4}};
constexpr std::array exaone4_classes{CheckpointClass{.name = "Exaone4ForCausalLM", .sliding = Sliding::honoured, .full_every = 4}};
constexpr std::array gemma2_classes{CheckpointClass{.name = "Gemma2ForCausalLM", .sliding = Sliding::honoured, .full_every = 2}};
constexpr std::array gemma3_classes{CheckpointClass{.name = "Gemma3ForCausalLM",
                                                    .sliding = Sliding::honoured,
                                                    .full_every = 6,
                                                    .wrapper = "Gemma3ForConditionalGeneration",
                                                    .model_type = "gemma3_text"}};
constexpr std::array granitehybrid_classes{CheckpointClass{"GraniteMoeHybridForCausalLM"}};
constexpr std::array lfm2_classes{CheckpointClass{"Lfm2ForCausalLM"}};
constexpr std::array nemotron_h_classes{CheckpointClass{"NemotronHForCausalLM"}};
constexpr std::array qwen35_classes{
    CheckpointClass{.name = "Qwen3_5ForCausalLM", .wrapper = "Qwen3_5ForConditionalGeneration", .model_type = "qwen3_5_text"}};
constexpr std::array glm4_classes{CheckpointClass{"Glm4ForCausalLM"}};
constexpr std::array granite_classes{CheckpointClass{"GraniteForCausalLM"}};
constexpr std::array mistral3_classes{CheckpointClass{.name = "Ministral3ForCausalLM",
                                                      .sliding = Sliding::honoured,
                                                      .wrapper = "Mistral3ForConditionalGeneration",
                                                      .model_type = "ministral3"}};
constexpr std::array olmo2_classes{CheckpointClass{"Olmo2ForCausalLM"},
                                   CheckpointClass{.name = "Olmo3ForCausalLM", .sliding = Sliding::honoured, .full_every = 4}};
constexpr std::array phi3_classes{CheckpointClass{.name = "Phi3ForCausalLM", .sliding = Sliding::honoured}};
constexpr std::array qwen2_classes{CheckpointClass{.name = "Qwen2ForCausalLM", .sliding = Sliding::if_asked}};
constexpr std::array qwen3_classes{CheckpointClass{.name = "Qwen3ForCausalLM", .sliding = Sliding::if_asked}};
constexpr std::array smollm3_classes{CheckpointClass{.name = "SmolLM3ForCausalLM", .sliding = Sliding::if_asked}};
constexpr std::array starcoder2_classes{CheckpointClass{.name = "Starcoder2ForCausalLM", .sliding = Sliding::honoured}};

constexpr std::array gemma_names{RoleName{Role::ffn_norm, "pre_feedforward_layernorm"}};
constexpr std::array glm4_names{RoleName{Role::attention_post_norm, "post_self_attn_layernorm"},
                                RoleName{Role::ffn_post_norm, "post_mlp_layernorm"}};
constexpr std::array granitehybrid_checkpoint_names{RoleName{Role::gate, "shared_mlp.input_linear"},  // gate above up
                                                    RoleName{Role::up, "shared_mlp.input_linear"},
                                                    RoleName{Role::down, "shared_mlp.output_linear"},
                                                    RoleName{Role::ssm_taps, "mamba.conv1d"},
                                                    RoleName{Role::ssm_dt, "mamba.dt_bias"},
                                                    RoleName{Role::ssm_a, "mamba.A_log"},
                                                    RoleName{Role::ssm_norm, "mamba.norm"},
                                                    RoleName{Role::ssm_out, "mamba.out_proj"}};
constexpr std::array lfm2_checkpoint_names{RoleName{Role::output_norm, "model.embedding_norm"},
                                           RoleName{Role::attention_norm, "operator_norm"},
                                           RoleName{Role::ffn_norm, "ffn_norm"},
                                           RoleName{Role::q_norm, "self_attn.q_layernorm"},
                                           RoleName{Role::k_norm, "self_attn.k_layernorm"},
                                           RoleName{Role::o, "self_attn.out_proj"},
                                           RoleName{Role::gate, "feed_forward.w1"},
                                           RoleName{Role::up, "feed_forward.w3"},
                                           RoleName{Role::down, "feed_forward.w2"}};
constexpr std::array nemotron_h_checkpoint_names{RoleName{Role::embedding, "model.embeddings"},
                                                 RoleName{Role::output_norm, "model.norm_f"},
                                                 RoleName{Role::attention_norm, "norm"},
                                                 RoleName{Role::ffn_norm, "norm"},
                                                 RoleName{Role::q, "mixer.q_proj"},
                                                 RoleName{Role::k, "mixer.k_proj"},
                                                 RoleName{Role::v, "mixer.v_proj"},
                                                 RoleName{Role::o, "mixer.o_proj"},
                                                 RoleName{Role::up, "mixer.up_proj"},
                                                 RoleName{Role::down, "mixer.down_proj"},
                                                 RoleName{Role::ssm_in, "mixer.in_proj"},
                                                 RoleName{Role::ssm_taps, "mixer.conv1d"},
                                                 RoleName{Role::ssm_dt, "mixer.dt_bias"},
                                                 RoleName{Role::ssm_a, "mixer.A_log"},
                                                 RoleName{Role::ssm_d, "mixer.D"},
                                                 RoleName{Role::ssm_norm, "mixer.norm"},
                                                 RoleName{Role::ssm_out, "mixer.out_proj"}};
constexpr std::array qwen35_checkpoint_names{RoleName{Role::qkv, "linear_attn.in_proj_qkv"}};
constexpr std::array starcoder2_names{RoleName{Role::up, "mlp.c_fc"}, RoleName{Role::down, "mlp.c_proj"}};

constexpr std::array gemma2_defaults{ConfigDefault{"head_dim", 256}, ConfigDefault{"query_pre_attn_scalar", 256},
                                     ConfigDefault{"sliding_window", 4096}, ConfigDefault{"attn_logit_softcapping", 50},
                                     ConfigDefault{"final_logit_softcapping", 30}};
// The text_config of multimodal Gemma 3 has only the values that differ from these.
constexpr std::array gemma3_defaults{ConfigDefault{"num_attention_heads", 8},
                                     ConfigDefault{"num_key_value_heads", 4},
                                     ConfigDefault{"head_dim", 256},
                                     ConfigDefault{"query_pre_attn_scalar", 256},
                                     ConfigDefault{"max_position_embeddings", 131072},
                                     ConfigDefault{"vocab_size", 262208},
                                     ConfigDefault{"sliding_window", 4096},
                                     ConfigDefault{"rope_theta", 1000000}};
// transformers' GemmaTokenizer. The other families' tokenizers: as llama.cpp's converter (0.7.0) has them.
constexpr TokenizerFacts gemma_tokenizer{.no_space_prefix = true};
constexpr std::array lfm2_defaults{ConfigDefault{"intermediate_size", 12288}, ConfigDefault{"num_key_value_heads", 8},
                                   ConfigDefault{"rope_theta", 1000000}};
constexpr std::array qwen35_defaults{ConfigDefault{"head_dim", 256}, ConfigDefault{"partial_rotary_factor", 0.25}};
constexpr std::array glm4_defaults{ConfigDefault{"partial_rotary_factor", 0.5}};

// GGUF stores the Q and K of some families permuted so that rotary pairs are neighbours (the pairing of RoFormer, Su et al. 2021, section
// 3.2.2); the others keep Hugging Face's halves. Fields that a row omits are Llama's.
constexpr std::array rows{
    Architecture{.name = "llama", .checkpoints = {.classes = llama_classes, .traits = writes_vocabulary | writes_rope_dim}},
    Architecture{.name = "cohere2",
                 .layer = cohere2_layer,
                 .honours = scales_logits,
                 .full_every = 4,
                 .unrotated_full = true,
                 .checkpoints = {.classes = cohere2_classes,
                                 .traits = writes_vocabulary | writes_rope_dim | writes_no_scaling | interleaved_heads,
                                 .tokenizer = {.pre = "command-r"},
                                 .epsilon = "layer_norm_eps"}},
    // DeepSeek-V2 and V3 (arXiv 2405.04434, 2412.19437), and GLM-4.7-Flash, whose files have the same name.
    Architecture{.name = "deepseek2", .latent_attention = true, .experts = deepseek2_experts, .tensor_names = deepseek2_names},
    Architecture{.name = "exaone4",
                 .rope_pairs = RopePairs::halves,
                 .layer = exaone4_layer,
                 .unrotated_full = true,
                 .checkpoints = {.classes = exaone4_classes, .traits = writes_vocabulary, .tokenizer = {.pre = "exaone4"}}},
    // Gemma 2 (arXiv 2408.00118), section 2: sliding windows on every other layer, softcaps. Its 27B scales scores by another width than
    // the head's.
    Architecture{.name = "gemma2",
                 .rope_pairs = RopePairs::halves,
                 .layer = gemma2_layer,
                 .honours = honours_softcaps | needs_softcaps,
                 .full_every = 2,
                 .scaled_embedding = true,
                 .width_scaled_layers = 46,
                 .checkpoints = {.classes = gemma2_classes,
                                 .names = gemma_names,
                                 .traits = norms_less_one | omits_rope_base,
                                 .defaults = gemma2_defaults,
                                 .tokenizer = gemma_tokenizer}},
    // Gemma 3 (arXiv 2503.19786), section 2.1: five sliding-window layers to one full layer, a rotary base for each kind.
    Architecture{.name = "gemma3",
                 .rope_pairs = RopePairs::halves,
                 .layer = gemma3_layer,
                 .honours = honours_softcaps,
                 .full_every = 6,
                 .local_rope_base = 10000.0f,
                 .scaled_embedding = true,
                 .width_scaled_layers = 62,
                 .checkpoints = {.classes = gemma3_classes,
                                 .names = gemma_names,
                                 .traits = norms_less_one,
                                 .defaults = gemma3_defaults,
                                 .tokenizer = gemma_tokenizer}},
    // Gemma 4: its modeling_gemma4.py of transformers 5.12.
    Architecture{.name = "gemma4",
                 .rope_pairs = RopePairs::halves,
                 .layer = gemma4_layer,
                 .honours = honours_softcaps,
                 .score_scale = 1.0f,
                 .token_inputs = true,
                 .window_heads = true,
                 .local_rope_base = 10000.0f,
                 .scaled_embedding = true,
                 .experts = gemma4_experts,
                 .tensor_names = gemma4_names},
    Architecture{.name = "glm4",
                 .layer = glm4_layer,
                 .biases = Biases::optional_qkv,
                 .checkpoints = {.classes = glm4_classes,
                                 .names = glm4_names,
                                 .traits = writes_rope_dim | partial_rotary | interleaved_heads,
                                 .defaults = glm4_defaults,
                                 .tokenizer = {.pre = "glm4", .eot = "<|user|>", .unknown = "<|endoftext|>"}}},
    // GLM-4.5 (arXiv 2508.06471), section 2.1: the Air models have no QK-norm.
    Architecture{.name = "glm4moe",
                 .rope_pairs = RopePairs::halves,
                 .layer = with_head_norms,
                 .biases = Biases::qkv,
                 .optional_qk_norm = true,
                 .experts = glm4moe_experts,
                 .tensor_names = post_attention_names},
    // gpt-oss (arXiv 2508.10925): files have no key for the window's layers, and older ones none for yarn_truncate, which its config.json
    // has.
    Architecture{.name = "gpt-oss",
                 .rope_pairs = RopePairs::halves,
                 .layer = gpt_oss_layer,
                 .biases = Biases::all,
                 .full_every = 2,
                 .whole_yarn_pairs = false,
                 .experts = gpt_oss_experts,
                 .tensor_names = post_attention_names},
    Architecture{
        .name = "granite",
        .honours = honours_scales,
        .checkpoints = {.classes = granite_classes, .traits = writes_vocabulary | writes_rope_dim, .tokenizer = {.pre = "refact"}}},
    // Granite 4.0 H: Mamba-2 layers, and attention without rotation.
    Architecture{.name = "granitehybrid",
                 .honours = honours_scales | honours_rope_switch,
                 .recurrent = Mamba2{},
                 .experts = granite_experts,
                 .checkpoints = {.classes = granitehybrid_classes,
                                 .names = granitehybrid_checkpoint_names,
                                 .traits = writes_vocabulary | writes_rope_dim | writes_rope_switch | writes_no_experts,
                                 .tokenizer = {.pre = "refact"}}},
    Architecture{.name = "lfm2",
                 .rope_pairs = RopePairs::halves,
                 .layer = with_head_norms,
                 .recurrent = ShortConv{},
                 .tensor_names = lfm2_names,
                 .checkpoints = {.classes = lfm2_classes,
                                 .names = lfm2_checkpoint_names,
                                 .traits = writes_vocabulary | adjusts_ffn,
                                 .defaults = lfm2_defaults,
                                 .tokenizer = {.pre = "lfm2"},
                                 .epsilon = "norm_eps"}},
    Architecture{.name = "lfm2moe",
                 .rope_pairs = RopePairs::halves,
                 .layer = with_head_norms,
                 .recurrent = ShortConv{},
                 .experts = lfm2_experts,
                 .tensor_names = lfm2_names},
    Architecture{.name = "mistral3",
                 .honours = honours_temperature,
                 .checkpoints = {.classes = mistral3_classes, .traits = writes_vocabulary | writes_rope_dim}},
    // Nemotron-H (arXiv 2504.03624): a block is one of Mamba-2, attention without rotation, and an MLP.
    Architecture{.name = "nemotron_h",
                 .layer = nemotron_h_layer,
                 .recurrent = Mamba2{},
                 .one_sublayer = true,
                 .layer_norm_epsilon = true,
                 .tensor_names = nemotron_h_names,
                 .checkpoints = {.classes = nemotron_h_classes,
                                 .names = nemotron_h_checkpoint_names,
                                 .traits = writes_vocabulary | writes_rope_switch | interleaved_heads,
                                 .tokenizer = {.pre = "pixtral"},
                                 .epsilon = "layer_norm_epsilon"}},
    Architecture{.name = "nemotron_h_moe",
                 .layer = nemotron_h_layer,
                 .recurrent = Mamba2{},
                 .one_sublayer = true,
                 .layer_norm_epsilon = true,
                 .experts = nemotron_h_experts,
                 .tensor_names = nemotron_h_names,
                 .head_names = nemotron_h_head_names},
    // OLMo 3: modular_olmo3.py of transformers 4.57; transformers 5.12 scales all layers, by mistake.
    Architecture{.name = "olmo2",
                 .rope_pairs = RopePairs::halves,
                 .layer = olmo2_layer,
                 .unscaled_windows = true,
                 .checkpoints = {.classes = olmo2_classes, .tokenizer = {.pre = "dbrx"}}},
    Architecture{.name = "phi3",
                 .rope_pairs = RopePairs::halves,
                 .layer = fused,
                 .honours = honours_long_rope,
                 .checkpoints = {.classes = phi3_classes,
                                 .traits = writes_rope_dim | writes_no_window | writes_original_context | partial_rotary,
                                 .tokenizer = {.pre = "dbrx"}}},
    Architecture{.name = "qwen2", .rope_pairs = RopePairs::halves, .biases = Biases::qkv, .checkpoints = {.classes = qwen2_classes}},
    Architecture{.name = "qwen3", .rope_pairs = RopePairs::halves, .layer = with_head_norms, .checkpoints = {.classes = qwen3_classes}},
    Architecture{.name = "qwen35",
                 .rope_pairs = RopePairs::halves,
                 .layer = qwen35_layer,
                 .recurrent = GatedDeltaNet{},
                 .attention_every = 4,
                 .tensor_names = post_attention_names,
                 .checkpoints = {.classes = qwen35_classes,
                                 .names = qwen35_checkpoint_names,
                                 .traits = norms_less_one | partial_rotary | writes_rope_sections | has_prediction,
                                 .defaults = qwen35_defaults,
                                 .tokenizer = {.pre = "qwen35"}}},
    Architecture{.name = "qwen35moe",
                 .rope_pairs = RopePairs::halves,
                 .layer = qwen35_layer,
                 .recurrent = GatedDeltaNet{},
                 .attention_every = 4,
                 .experts = qwen35_experts,
                 .tensor_names = post_attention_names},
    Architecture{.name = "qwen3moe", .rope_pairs = RopePairs::halves, .layer = with_head_norms, .experts = qwen3_experts},
    Architecture{.name = "qwen3next",
                 .rope_pairs = RopePairs::halves,
                 .layer = qwen35_layer,
                 .recurrent = GatedDeltaNet{.tiled_heads = false, .fused_rates = true},
                 .attention_every = 4,
                 .experts = qwen35_experts,
                 .tensor_names = post_attention_names},
    Architecture{.name = "smollm3",
                 .unrotated_every = 4,
                 .checkpoints = {.classes = smollm3_classes, .traits = writes_vocabulary | writes_rope_dim}},
    Architecture{.name = "starcoder2",
                 .rope_pairs = RopePairs::halves,
                 .layer = starcoder2_layer,
                 .biases = Biases::all,
                 .checkpoints = {.classes = starcoder2_classes, .names = starcoder2_names}},
};

constexpr std::size_t names_size() {
  std::size_t size = 0;
  for (const Architecture& row : rows) size += row.name.size() + 2;
  return size;
}

/// Made at compile time: a look-up needs no memory.
constexpr auto names = [] {
  std::array<char, names_size()> text{};
  std::size_t at = 0;
  for (const Architecture& row : rows) {
    for (const char c : std::string_view(at == 0 ? "" : ", ")) text[at++] = c;
    for (const char c : row.name) text[at++] = c;
  }
  return text;  // the rest is 0
}();

}  // namespace

std::vector<bool> windows_but_every(std::uint32_t full_every, std::uint32_t layers) {
  std::vector<bool> windows(layers, true);
  for (std::uint32_t i = full_every; i != 0 && i <= layers; i += full_every) windows[i - 1] = false;
  return windows;
}

std::span<const Architecture> architectures() { return rows; }

const char* architecture_names() { return names.data(); }

const Architecture* find_architecture(std::string_view name) {
  const auto row = std::ranges::find(rows, name, &Architecture::name);
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace skipstone::model
