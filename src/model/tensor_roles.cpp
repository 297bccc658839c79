#include "model/tensor_roles.h"

#include <fmt/format.h>

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
    {Role::attention_norm, "attn_norm", "input_layernorm", {Length::width}, true},
    {Role::qkv, "attn_qkv", "self_attn.qkv_proj", {Length::width, Length::qkv_width}, false},
    {Role::q, "attn_q", "self_attn.q_proj", {Length::width, Length::q_width}, true},
    {Role::k, "attn_k", "self_attn.k_proj", {Length::width, Length::kv_width}, true},
    {Role::v, "attn_v", "self_attn.v_proj", {Length::width, Length::kv_width}, true},
    {Role::q_norm, "attn_q_norm", "self_attn.q_norm", {Length::q_norm}, false},
    {Role::k_norm, "attn_k_norm", "self_attn.k_norm", {Length::k_norm}, false},
    {Role::o, "attn_output", "self_attn.o_proj", {Length::q_width, Length::width}, true},
    {Role::attention_post_norm, "post_attention_norm", "post_attention_layernorm", {Length::width}, true},
    {Role::ffn_norm, "ffn_norm", "post_attention_layernorm", {Length::width}, true},
    {Role::gate, "ffn_gate", "mlp.gate_proj", {Length::width, Length::ffn}, true},
    {Role::up, "ffn_up", "mlp.up_proj", {Length::width, Length::ffn}, true},
    {Role::gate_up, "ffn_up", "mlp.gate_up_proj", {Length::width, Length::twice_ffn}, false},
    {Role::down, "ffn_down", "mlp.down_proj", {Length::ffn, Length::width}, true},
    {Role::ffn_post_norm, "post_ffw_norm", "post_feedforward_layernorm", {Length::width}, true},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (roles[i].role != static_cast<Role>(i)) return false;
  }
  return true;
}
static_assert(in_order());

// What each kind of mixer and feed-forward network has, and the lengths that are its own (0 for others).

bool has(const Attention& attention, Role role) {
  switch (role) {
    case Role::qkv:
      return attention.fused_qkv;
    case Role::q:
    case Role::k:
    case Role::v:
      return !attention.fused_qkv;
    case Role::q_norm:
    case Role::k_norm:
      return attention.qk_norm != QkNorm::none;
    default:
      return role == Role::o;
  }
}

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

std::uint64_t length_of(const Attention& attention, Length length) {
  const bool all_heads = attention.qk_norm == QkNorm::width;
  switch (length) {
    case Length::q_width:
      return attention.q_width();
    case Length::kv_width:
      return attention.kv_width();
    case Length::qkv_width:
      return std::uint64_t{attention.q_width()} + std::uint64_t{2} * attention.kv_width();
    case Length::q_norm:
      return all_heads ? attention.q_width() : attention.head_dim;
    case Length::k_norm:
      return all_heads ? attention.kv_width() : attention.head_dim;
    default:
      return 0;
  }
}

std::uint64_t length_of(const Mlp& mlp, Length length) {
  return length == Length::ffn ? mlp.width : length == Length::twice_ffn ? std::uint64_t{2} * mlp.width : 0;
}

std::uint64_t length_of(Length length, const Config& config, std::uint32_t layer) {
  switch (length) {
    case Length::one:
      return 1;
    case Length::width:
      return config.width;
    case Length::vocabulary:
      return config.vocabulary;
    case Length::half_rope:
      return config.rope_dim / 2;
    default:
      const auto own = [length](const auto& part) { return length_of(part, length); };
      const std::uint64_t of_mixer = std::visit(own, config.layers[layer].mixer);
      return of_mixer != 0 ? of_mixer : std::visit(own, config.layers[layer].feedforward);
  }
}

}  // namespace

std::span<const TensorRole> tensor_roles() { return roles; }
const TensorRole& tensor_role(Role role) { return roles[static_cast<std::size_t>(role)]; }

TensorShape tensor_shape(Role role, const Config& config, std::uint32_t layer) {
  const TensorRole& row = tensor_role(role);
  TensorShape shape{length_of(row.shape[0], config, layer), length_of(row.shape[1], config, layer), length_of(row.shape[2], config, layer)};
  shape.outputs = row.vector() ? shape.columns : shape.rows * shape.matrices;
  return shape;
}

bool has_role(const LayerConfig& layer, Role role) {
  switch (role) {
    case Role::attention_norm:
    case Role::ffn_norm:
      return layer.norm_before != Norm::none;
    case Role::attention_post_norm:
    case Role::ffn_post_norm:
      return layer.norm_after != Norm::none;
    default:
      const auto has_it = [role](const auto& part) { return has(part, role); };
      return std::visit(has_it, layer.mixer) || std::visit(has_it, layer.feedforward);
  }
}

bool has_bias(const LayerConfig& layer, Role role) {
  if (!tensor_role(role).bias) return false;
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

namespace {

std::string name_of(Role role, std::uint32_t layer, std::string_view kind) {
  const std::string_view name = tensor_role(role).name;
  return role < first_layer_role ? fmt::format("{}.{}", name, kind) : fmt::format("blk.{}.{}.{}", layer, name, kind);
}

}  // namespace

std::string tensor_name(Role role, std::uint32_t layer, bool bias) { return name_of(role, layer, bias ? "bias" : "weight"); }

bool has_scale(Role role) { return !tensor_role(role).vector() && role != Role::embedding; }

std::string scale_name(Role role, std::uint32_t layer, bool of_input) { return name_of(role, layer, of_input ? "input_scale" : "scale"); }

}  // namespace skipstone::model
