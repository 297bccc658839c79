// The dispatches of a family's layers, by their labels.
#pragma once

#include <string_view>

namespace skipstone::exec {

inline constexpr const char* llama_layer = "attn_qkv rope_store attention attention.merge attn_output ffn_gate_up ffn_down";
inline constexpr const char* post_norms =
    "attn_qkv rope_store attention attention.merge attn_output post_attention_norm ffn_gate_up ffn_down post_ffw_norm";
inline constexpr const char* qk_and_post_norms =
    "attn_qkv qk_norm rope_store attention attention.merge attn_output post_attention_norm ffn_gate_up ffn_down post_ffw_norm";

/// A layer of a family whose dispatches are not Llama's.
struct FamilyLayer {
  std::string_view family;
  std::string_view dispatches;
  std::string_view output = "output output.merge";
  std::string_view recurrent = "";  ///< a layer without attention
  std::string_view mlp = "";        ///< a layer without a mixer
};
inline constexpr FamilyLayer family_layers[] = {
    {"cohere2", "attn_norm attn_qkv rope_store attention attention.merge attn_output ffn_gate_up ffn_down",
     "output_norm output output.merge"},
    {"deepseek2",
     "attn_kv_a attn_q_a attn_kv_a_norm attn_q_b attn_k_b rope_store attention attention.merge attn_v_b attn_output ffn_norm ffn_router "
     "route group_experts expert_gate expert_up expert_swiglu expert_down shared_gate_up shared_down combine_experts"},
    {"exaone4", qk_and_post_norms},
    {"gemma2", post_norms},
    {"gemma3", qk_and_post_norms},
    {"gemma4",
     "attn_qkv qk_norm rope_store attention attention.merge attn_output post_attention_norm ffn_gate_up ffn_down post_ffw_norm inp_gate "
     "token_gate proj post_norm"},
    {"glm4", post_norms},
    {"glm4moe",
     "attn_qkv qk_norm rope_store attention attention.merge attn_output ffn_norm ffn_router route group_experts expert_gate expert_up "
     "expert_swiglu expert_down shared_gate_up shared_down combine_experts"},
    {"gpt-oss",
     "attn_qkv rope_store attention attention.merge attn_output ffn_norm ffn_router route group_experts expert_gate expert_up "
     "expert_swiglu "
     "expert_down combine_experts"},
    {"granitehybrid", llama_layer, "output output.merge", "ssm_in scan gated_norm ssm_out ffn_gate_up ffn_down"},
    {"lfm2", "attn_qkv qk_norm rope_store attention attention.merge attn_output ffn_gate_up ffn_down", "output output.merge",
     "shortconv_in short_conv shortconv_out ffn_gate_up ffn_down"},
    {"lfm2moe",
     "attn_qkv qk_norm rope_store attention attention.merge attn_output ffn_norm ffn_router route group_experts expert_gate expert_up "
     "expert_swiglu expert_down combine_experts",
     "output output.merge", "shortconv_in short_conv shortconv_out ffn_gate_up ffn_down"},
    {"nemotron_h", "attn_qkv rope_store attention attention.merge attn_output", "output output.merge", "ssm_in scan gated_norm ssm_out",
     "ffn_up squared_relu ffn_down"},
    {"nemotron_h_moe", "attn_qkv rope_store attention attention.merge attn_output", "output output.merge", "ssm_in scan gated_norm ssm_out",
     "ffn_norm ffn_router route group_experts expert_up expert_squared_relu expert_down shared_up shared_squared_relu shared_down "
     "combine_experts"},
    {"olmo2", qk_and_post_norms},
    {"qwen3", "attn_qkv qk_norm rope_store attention attention.merge attn_output ffn_gate_up ffn_down"},
    {"qwen35", "attn_qkv qk_norm rope_store attention attention.merge head_gate attn_output ffn_gate_up ffn_down", "output output.merge",
     "ssm_gate_qkv_beta_alpha scan gated_norm ssm_out ffn_gate_up ffn_down"},
    {"qwen35moe",
     "attn_qkv qk_norm rope_store attention attention.merge head_gate attn_output ffn_norm ffn_router_shared route group_experts "
     "expert_gate "
     "expert_up expert_swiglu expert_down shared_gate_up shared_down combine_experts",
     "output output.merge",
     "ssm_gate_qkv_beta_alpha scan gated_norm ssm_out ffn_norm ffn_router_shared route group_experts expert_gate expert_up expert_swiglu "
     "expert_down shared_gate_up shared_down combine_experts"},
    {"qwen3moe",
     "attn_qkv qk_norm rope_store attention attention.merge attn_output ffn_norm ffn_router route group_experts expert_gate expert_up "
     "expert_swiglu expert_down combine_experts"},
    {"qwen3next",
     "attn_qkv qk_norm rope_store attention attention.merge head_gate attn_output ffn_norm ffn_router_shared route group_experts "
     "expert_gate "
     "expert_up expert_swiglu expert_down shared_gate_up shared_down combine_experts",
     "output output.merge",
     "ssm_gate_qkv ssm_ba scan gated_norm ssm_out ffn_norm ffn_router_shared route group_experts expert_gate expert_up expert_swiglu "
     "expert_down shared_gate_up shared_down combine_experts"},
    {"starcoder2", "attn_norm attn_qkv rope_store attention attention.merge attn_output ffn_norm ffn_up ffn_down",
     "output_norm output output.merge"},
};

}  // namespace skipstone::exec
