#include "model/tensor_roles.h"

#include <variant>

#include "model/config.h"

namespace skipstone::model {
namespace {

// Names: docs/gguf.md of ggml ("Standardized tensor names"); modelling code of transformers for the checkpoints'.
constexpr std::array<TensorRole, role_count> roles{{
    {Role::embedding, "token_embd", "model.embed_tokens", {Length::width, Length::vocabulary}, false},
    {Role::output_norm, "output_norm", "model.norm", {Length::width}, true},
    {Role::output, "output", "lm_head", {Length::width, Length::vocabulary}, true, false},
    {Role::rope_factors, "rope_freqs", "", {Length::half_rope}, false, false},
    {Role::rope_factors_short, "rope_factors_short", "", {Length::half_rope}, false, false},
    {Role::rope_factors_long, "rope_factors_long", "", {Length::half_rope}, false, false},
    {Role::token_embedding, "per_layer_token_embd", "", {Length::all_token_inputs, Length::vocabulary}, false, false},
    {Role::token_projection, "per_layer_model_proj", "", {Length::width, Length::all_token_inputs}, false, false},
    {Role::token_norm, "per_layer_proj_norm", "", {Length::token_input}, false, false},
    {Role::attention_norm, "attn_norm", "input_layernorm", {Length::width}, true},
    {Role::qkv, "attn_qkv", "self_attn.qkv_proj", {Length::width, Length::qkv_width}, false},
    {Role::q, "attn_q", "self_attn.q_proj", {Length::width, Length::q_rows}, true},
    {Role::k, "attn_k", "self_attn.k_proj", {Length::width, Length::kv_width}, true},
    {Role::v, "attn_v", "self_attn.v_proj", {Length::width, Length::kv_width}, true},
    {Role::q_norm, "attn_q_norm", "self_attn.q_norm", {Length::q_norm}, false},
    {Role::k_norm, "attn_k_norm", "self_attn.k_norm", {Length::k_norm}, false},
    {Role::o, "attn_output", "self_attn.o_proj", {Length::q_width, Length::width}, true},
    {Role::sinks, "attn_sinks", "", {Length::heads}, false},
    {Role::kv_a, "attn_kv_a_mqa", "", {Length::width, Length::kv_width}, false},
    {Role::q_a, "attn_q_a", "", {Length::width, Length::query_latent}, false},
    {Role::q_b, "attn_q_b", "", {Length::query_latent, Length::q_rows}, false},
    {Role::k_b, "attn_k_b", "", {Length::key_dim, Length::key_latent, Length::heads}, false},
    {Role::v_b, "attn_v_b", "", {Length::key_latent, Length::value_dim, Length::heads}, false},
    {Role::kv_b, "attn_kv_b", "", {Length::key_latent, Length::key_value_rows}, false},
    {Role::shortconv_in, "shortconv.in_proj", "conv.in_proj", {Length::width, Length::three_widths}, false},
    {.role = Role::shortconv_taps,
     .name = "shortconv.conv",
     .huggingface = "conv.conv",
     .shape = {Length::kernel, Length::width},
     .bias = false,
     .floats = true},
    {Role::shortconv_out, "shortconv.out_proj", "conv.out_proj", {Length::width, Length::width}, false},
    {Role::ssm_in, "ssm_in", "mamba.in_proj", {Length::width, Length::ssm_rows}, false},
    {Role::ssm_gate, "attn_gate", "linear_attn.in_proj_z", {Length::width, Length::inner}, false},
    {Role::ssm_beta, "ssm_beta", "linear_attn.in_proj_b", {Length::width, Length::ssm_heads}, false},
    {Role::ssm_alpha, "ssm_alpha", "linear_attn.in_proj_a", {Length::width, Length::ssm_heads}, false},
    {Role::ssm_rates, "ssm_ba", "", {Length::width, Length::twice_ssm_heads}, false},
    {.role = Role::ssm_taps,
     .name = "ssm_conv1d",
     .huggingface = "linear_attn.conv1d",
     .shape = {Length::kernel, Length::channels},
     .bias = true,
     .floats = true},
    {.role = Role::ssm_dt,
     .name = "ssm_dt",
     .huggingface = "linear_attn.dt_bias",
     .shape = {Length::ssm_heads},
     .bias = false,
     .suffix = "bias"},
    {.role = Role::ssm_a,
     .name = "ssm_a",
     .huggingface = "linear_attn.A_log",
     .shape = {Length::ssm_heads},
     .bias = false,
     .suffix = "",
     .floats = true},
    {.role = Role::ssm_d,
     .name = "ssm_d",
     .huggingface = "mamba.D",
     .shape = {Length::ssm_heads},
     .bias = false,
     .suffix = "",
     .floats = true},
    {.role = Role::ssm_norm,
     .name = "ssm_norm",
     .huggingface = "linear_attn.norm",
     .shape = {Length::ssm_norm, Length::ssm_groups},
     .bias = false,
     .floats = true},
    {Role::ssm_out, "ssm_out", "linear_attn.out_proj", {Length::inner, Length::width}, false},
    {Role::prediction_in, "nextn.eh_proj", "mtp.fc", {Length::two_widths, Length::width}, false},
    {Role::prediction_embedding_norm, "nextn.enorm", "mtp.pre_fc_norm_embedding", {Length::width}, false},
    {Role::prediction_hidden_norm, "nextn.hnorm", "mtp.pre_fc_norm_hidden", {Length::width}, false},
    {Role::prediction_norm, "nextn.shared_head_norm", "mtp.norm", {Length::width}, false, false},
    {Role::prediction_embedding, "nextn.embed_tokens", "", {Length::width, Length::vocabulary}, false, false},
    {Role::prediction_output, "nextn.shared_head_head", "", {Length::width, Length::vocabulary}, false, false},
    {Role::attention_post_norm, "post_attention_norm", "post_attention_layernorm", {Length::width}, true},
    {Role::ffn_norm, "ffn_norm", "post_attention_layernorm", {Length::width}, true},
    {Role::gate, "ffn_gate", "mlp.gate_proj", {Length::width, Length::ffn}, true},
    {Role::up, "ffn_up", "mlp.up_proj", {Length::width, Length::ffn}, true},
    {Role::gate_up, "ffn_up", "mlp.gate_up_proj", {Length::width, Length::twice_ffn}, false},
    {Role::down, "ffn_down", "mlp.down_proj", {Length::ffn, Length::width}, true},
    {Role::router, "ffn_gate_inp", "", {Length::width, Length::experts}, true},
    {.role = Role::router_norm, .name = "ffn_gate_inp", .huggingface = "", .shape = {Length::width}, .bias = false, .suffix = "scale"},
    {.role = Role::router_correction,
     .name = "exp_probs_b",
     .huggingface = "",
     .shape = {Length::experts},
     .bias = false,
     .suffix = "bias"},
    {Role::expert_norm, "pre_ffw_norm_2", "", {Length::width}, false},
    {Role::expert_gate, "ffn_gate_exps", "", {Length::expert_width, Length::expert_ffn, Length::experts}, true},
    {Role::expert_up, "ffn_up_exps", "", {Length::expert_width, Length::expert_ffn, Length::experts}, true},
    {Role::expert_gate_up, "ffn_gate_up_exps", "", {Length::expert_width, Length::twice_expert_ffn, Length::experts}, false},
    {Role::expert_down, "ffn_down_exps", "", {Length::expert_ffn, Length::expert_width, Length::experts}, true},
    {Role::expert_post_norm, "post_ffw_norm_2", "", {Length::width}, false},
    {Role::latent_down, "ffn_latent_down", "", {Length::width, Length::latent}, false},
    {Role::latent_up, "ffn_latent_up", "", {Length::latent, Length::width}, false},
    {Role::shared_router, "ffn_gate_inp_shexp", "", {Length::width, Length::one_row}, false},
    {Role::shared_gate, "ffn_gate_shexp", "", {Length::width, Length::shared_ffn}, false},
    {Role::shared_up, "ffn_up_shexp", "", {Length::width, Length::shared_ffn}, false},
    {Role::shared_down, "ffn_down_shexp", "", {Length::shared_ffn, Length::width}, false},
    {Role::shared_post_norm, "post_ffw_norm_1", "", {Length::width}, false},
    {Role::ffn_post_norm, "post_ffw_norm", "post_feedforward_layernorm", {Length::width}, true},
    {Role::token_gate, "inp_gate", "", {Length::width, Length::token_input}, false},
    {Role::token_out, "proj", "", {Length::token_input, Length::width}, false},
    {Role::token_post_norm, "post_norm", "", {Length::width}, false},
    {Role::output_scale, "layer_output_scale", "", {Length::one_row}, false},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (roles[i].role != static_cast<Role>(i)) return false;
  }
  return true;
}
static_assert(in_order());

// What each kind of mixer and feed-forward network has.

bool has_latent_role(const Latents& latents, Role role) {
  switch (role) {
    case Role::q:
      return latents.query == 0;
    case Role::q_a:
    case Role::q_b:
    case Role::q_norm:
      return latents.query != 0;
    case Role::k_b:
    case Role::v_b:
      return !latents.fused;
    case Role::kv_b:
      return latents.fused;
    default:
      return role == Role::kv_a || role == Role::k_norm || role == Role::o;
  }
}

bool has(const Attention& attention, Role role) {
  if (attention.has_latents()) return has_latent_role(attention.latents, role);
  switch (role) {
    case Role::qkv:
      return attention.fused_qkv;
    case Role::q:
      return !attention.fused_qkv;
    case Role::k:
      return !attention.fused_qkv && !attention.kv_source;
    case Role::v:
      return !attention.fused_qkv && !attention.kv_source && !attention.keys_as_values;
    case Role::q_norm:
      return attention.qk_norm != QkNorm::none;
    case Role::k_norm:
      return attention.qk_norm != QkNorm::none && !attention.kv_source;
    case Role::sinks:
      return attention.sinks;
    default:
      return role == Role::o;
  }
}

bool has(const ShortConv&, Role role) { return role >= Role::shortconv_in && role <= Role::shortconv_out; }

bool has(const GatedDeltaNet& net, Role role) {
  switch (role) {
    case Role::ssm_beta:
    case Role::ssm_alpha:
      return !net.fused_rates;
    case Role::ssm_rates:
      return net.fused_rates;
    case Role::qkv:
    case Role::ssm_gate:
    case Role::ssm_taps:
    case Role::ssm_dt:
    case Role::ssm_a:
    case Role::ssm_norm:
      return true;
    default:
      return role == Role::ssm_out;
  }
}

bool has(const Mamba2&, Role role) {
  switch (role) {
    case Role::ssm_in:
    case Role::ssm_taps:
    case Role::ssm_dt:
    case Role::ssm_a:
    case Role::ssm_d:
    case Role::ssm_norm:
      return true;
    default:
      return role == Role::ssm_out;
  }
}

bool has(const std::monostate&, Role) { return false; }

bool has(const Mlp& mlp, Role role) {
  switch (role) {
    case Role::gate:
      return mlp.gated() && !mlp.fused_gate_up;
    case Role::up:
      return !mlp.fused_gate_up;
    case Role::gate_up:
      return mlp.fused_gate_up;
    default:
      return role == Role::down;
  }
}

bool has(const Experts& experts, Role role) {
  switch (role) {
    case Role::router:
    case Role::expert_down:
      return true;
    case Role::expert_up:
      return !experts.fused_gate_up;
    case Role::expert_gate_up:
      return experts.fused_gate_up;
    case Role::router_norm:
    case Role::expert_norm:
    case Role::expert_post_norm:
    case Role::shared_post_norm:
      return experts.own_norms;
    case Role::router_correction:
      return experts.corrected;
    case Role::expert_gate:
      return experts.gated() && !experts.fused_gate_up;
    case Role::latent_down:
    case Role::latent_up:
      return experts.latent != 0;
    case Role::shared_router:
      return experts.has_shared_gate();
    case Role::shared_gate:
      return experts.shared_width != 0 && experts.gated();
    default:
      return experts.shared_width != 0 && (role == Role::shared_up || role == Role::shared_down);
  }
}

}  // namespace

std::span<const TensorRole> tensor_roles() { return roles; }
const TensorRole& tensor_role(Role role) { return roles[static_cast<std::size_t>(role)]; }

bool has_role(const LayerConfig& layer, Role role) {
  switch (role) {
    case Role::attention_norm:
      return layer.norm_before != Norm::none && layer.has_mixer();
    case Role::ffn_norm:
      return layer.norm_before != Norm::none && layer.has_feedforward() && !layer.parallel;
    case Role::attention_post_norm:
      return layer.norm_after != Norm::none && layer.has_mixer();
    case Role::ffn_post_norm:
      return layer.norm_after != Norm::none && layer.has_feedforward();
    case Role::token_gate:
    case Role::token_out:
    case Role::token_post_norm:
      return layer.token_input != 0;
    case Role::output_scale:
      return layer.output_scale;
    case Role::prediction_in:
    case Role::prediction_embedding_norm:
    case Role::prediction_hidden_norm:
    case Role::prediction_norm:
    case Role::prediction_embedding:
    case Role::prediction_output:
      return layer.predicts;
    default:
      const auto has_it = [role](const auto& part) { return has(part, role); };
      return std::visit(has_it, layer.mixer) || std::visit(has_it, layer.feedforward);
  }
}

bool has_bias(const LayerConfig& layer, Role role) {
  if (!tensor_role(role).bias) return false;
  if (role == Role::ssm_taps) return std::holds_alternative<Mamba2>(layer.mixer);
  if (const auto* attention = std::get_if<Attention>(&layer.mixer); role == Role::q && attention != nullptr && attention->has_latents()) {
    return false;
  }
  if (!tensor_role(role).vector()) return true;
  const bool after = role == Role::attention_post_norm || role == Role::ffn_post_norm;
  return (after ? layer.norm_after : layer.norm_before) == Norm::layer;
}

bool needs_bias(const Architecture& family, const LayerConfig& layer, Role role) {
  if (!has_bias(layer, role)) return false;
  if (tensor_role(role).vector()) return true;
  const bool of_qkv = role == Role::q || role == Role::k || role == Role::v;
  return role >= first_layer_role && (family.biases == Biases::all || (family.biases == Biases::qkv && of_qkv));
}

bool has_scale(const LayerConfig& layer, Role role) {
  if (role == Role::router && has_role(layer, Role::router_norm)) return false;  // whose weight has that name
  return !tensor_role(role).vector() && role != Role::embedding && role != Role::token_embedding;
}

}  // namespace skipstone::model
