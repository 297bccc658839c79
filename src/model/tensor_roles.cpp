#include "model/tensor_roles.h"

#include <fmt/format.h>

#include "model/config.h"

namespace skipstone::model {
namespace {

// Names: docs/gguf.md of ggml ("Standardized tensor names"); modelling code of transformers for the checkpoints'.
constexpr std::array<TensorRole, role_count> roles{{
    {Role::embedding, "token_embd", "model.embed_tokens", Length::vocabulary, Length::width, false},
    {Role::output_norm, "output_norm", "model.norm", Length::one, Length::width, true},
    {Role::output, "output", "lm_head", Length::vocabulary, Length::width, true, false},
    {Role::rope_factors, "rope_freqs", "", Length::one, Length::half_rope, false, false},
    {Role::rope_factors_short, "rope_factors_short", "", Length::one, Length::half_rope, false, false},
    {Role::rope_factors_long, "rope_factors_long", "", Length::one, Length::half_rope, false, false},
    {Role::attention_norm, "attn_norm", "input_layernorm", Length::one, Length::width, true},
    {Role::qkv, "attn_qkv", "self_attn.qkv_proj", Length::qkv_width, Length::width, false},
    {Role::q, "attn_q", "self_attn.q_proj", Length::q_width, Length::width, true},
    {Role::k, "attn_k", "self_attn.k_proj", Length::kv_width, Length::width, true},
    {Role::v, "attn_v", "self_attn.v_proj", Length::kv_width, Length::width, true},
    {Role::q_norm, "attn_q_norm", "self_attn.q_norm", Length::one, Length::q_norm, false},
    {Role::k_norm, "attn_k_norm", "self_attn.k_norm", Length::one, Length::k_norm, false},
    {Role::o, "attn_output", "self_attn.o_proj", Length::width, Length::q_width, true},
    {Role::attention_post_norm, "post_attention_norm", "post_attention_layernorm", Length::one, Length::width, true},
    {Role::ffn_norm, "ffn_norm", "post_attention_layernorm", Length::one, Length::width, true},
    {Role::gate, "ffn_gate", "mlp.gate_proj", Length::ffn, Length::width, true},
    {Role::up, "ffn_up", "mlp.up_proj", Length::ffn, Length::width, true},
    {Role::gate_up, "ffn_up", "mlp.gate_up_proj", Length::twice_ffn, Length::width, false},
    {Role::down, "ffn_down", "mlp.down_proj", Length::width, Length::ffn, true},
    {Role::ffn_post_norm, "post_ffw_norm", "post_feedforward_layernorm", Length::one, Length::width, true},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (roles[i].role != static_cast<Role>(i)) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

std::span<const TensorRole> tensor_roles() { return roles; }
const TensorRole& tensor_role(Role role) { return roles[static_cast<std::size_t>(role)]; }

std::uint64_t length_of(Length length, const Config& config) {
  const bool whole_width = config.family->layer.qk_norm == QkNorm::width;
  switch (length) {
    case Length::one:
      return 1;
    case Length::width:
      return config.width;
    case Length::q_width:
      return config.q_width();
    case Length::kv_width:
      return config.kv_width();
    case Length::qkv_width:
      return std::uint64_t{config.q_width()} + std::uint64_t{2} * config.kv_width();
    case Length::q_norm:
      return whole_width ? config.q_width() : config.head_dim;
    case Length::k_norm:
      return whole_width ? config.kv_width() : config.head_dim;
    case Length::ffn:
      return config.ffn;
    case Length::twice_ffn:
      return std::uint64_t{2} * config.ffn;
    case Length::vocabulary:
      return config.vocabulary;
    case Length::half_rope:
      return config.rope_dim / 2;
  }
  return 0;
}

bool has_role(const LayerSpec& layer, Role role) {
  switch (role) {
    case Role::attention_norm:
    case Role::ffn_norm:
      return layer.norm_before != Norm::none;
    case Role::attention_post_norm:
    case Role::ffn_post_norm:
      return layer.norm_after != Norm::none;
    case Role::qkv:
      return layer.fused_qkv;
    case Role::q:
    case Role::k:
    case Role::v:
      return !layer.fused_qkv;
    case Role::q_norm:
    case Role::k_norm:
      return layer.qk_norm != QkNorm::none;
    case Role::gate:
      return layer.gated() && !layer.fused_gate_up;
    case Role::up:
      return !layer.fused_gate_up;
    case Role::gate_up:
      return layer.fused_gate_up;
    case Role::o:
    case Role::down:
      return true;
    default:
      return false;
  }
}

bool has_bias(const LayerSpec& layer, Role role) {
  if (!tensor_role(role).bias) return false;
  if (!tensor_role(role).vector()) return true;
  const bool after = role == Role::attention_post_norm || role == Role::ffn_post_norm;
  return (after ? layer.norm_after : layer.norm_before) == Norm::layer;
}

bool needs_bias(const Architecture& family, Role role) {
  if (!has_bias(family.layer, role)) return false;
  if (tensor_role(role).vector()) return true;
  const bool of_qkv = role == Role::q || role == Role::k || role == Role::v;
  return role >= first_layer_role && (family.biases == Biases::all || (family.biases == Biases::qkv && of_qkv));
}

std::string tensor_name(Role role, std::uint32_t layer, bool bias) {
  const std::string_view name = tensor_role(role).name, kind = bias ? "bias" : "weight";
  return role < first_layer_role ? fmt::format("{}.{}", name, kind) : fmt::format("blk.{}.{}.{}", layer, name, kind);
}

}  // namespace skipstone::model
