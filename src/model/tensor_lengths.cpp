// The shapes of tensors: the lengths that a model, a layer's mixer and its feed-forward network have (0 for those of others).
#include <cstdint>
#include <variant>

#include "model/config.h"
#include "model/tensor_roles.h"

namespace skipstone::model {
namespace {

std::uint64_t length_of(const Attention& attention, Length length) {
  const bool all_heads = attention.qk_norm == QkNorm::width;
  const Latents& latents = attention.latents;
  switch (length) {
    case Length::q_rows:
      return attention.q_rows();
    case Length::q_width:
      return attention.output_width();
    case Length::kv_width:
      return attention.kv_width();
    case Length::qkv_width:
      return std::uint64_t{attention.q_rows()} + std::uint64_t{2} * attention.kv_width();
    case Length::q_norm:
      return latents.width != 0 ? latents.query : all_heads ? attention.q_width() : attention.head_dim;
    case Length::k_norm:
      return latents.width != 0 ? latents.width : all_heads ? attention.kv_width() : attention.head_dim;
    case Length::heads:
      return attention.heads;
    case Length::query_latent:
      return latents.query;
    case Length::key_latent:
      return latents.width;
    case Length::key_dim:
      return latents.key_dim;
    case Length::value_dim:
      return latents.value_dim;
    case Length::key_value_rows:
      return std::uint64_t{attention.heads} * (latents.key_dim + latents.value_dim);
    default:
      return 0;
  }
}

std::uint64_t length_of(const ShortConv& conv, Length length) { return length == Length::kernel ? conv.kernel : 0; }

std::uint64_t length_of(const GatedDeltaNet& net, Length length) {
  switch (length) {
    case Length::kernel:
      return net.kernel;
    case Length::qkv_width:
    case Length::channels:
      return net.channels();
    case Length::ssm_heads:
      return net.value_heads;
    case Length::twice_ssm_heads:
      return std::uint64_t{2} * net.value_heads;
    case Length::ssm_norm:
      return net.value_dim;
    case Length::ssm_groups:  // the heads have one norm in common
      return 1;
    case Length::inner:
      return net.value_width();
    default:
      return 0;
  }
}

std::uint64_t length_of(const Mamba2& mamba, Length length) {
  switch (length) {
    case Length::kernel:
      return mamba.kernel;
    case Length::channels:
      return mamba.channels();
    case Length::ssm_rows:
      return std::uint64_t{mamba.width()} + mamba.channels() + mamba.heads;
    case Length::ssm_heads:
      return mamba.heads;
    case Length::ssm_norm:
      return mamba.group_width();
    case Length::ssm_groups:
      return mamba.groups;
    case Length::inner:
      return mamba.width();
    default:
      return 0;
  }
}

std::uint64_t length_of(const std::monostate&, Length) { return 0; }

std::uint64_t length_of(const Mlp& mlp, Length length) {
  return length == Length::ffn ? mlp.width : length == Length::twice_ffn ? std::uint64_t{2} * mlp.width : 0;
}

std::uint64_t length_of(const Experts& experts, Length length) {
  if (length == Length::experts) return experts.count;
  if (length == Length::expert_ffn) return experts.width;
  if (length == Length::twice_expert_ffn) return std::uint64_t{2} * experts.width;
  if (length == Length::shared_ffn) return experts.shared_width;
  return length == Length::expert_width || length == Length::latent ? experts.latent : 0;
}

std::uint64_t length_of(Length length, const Config& config, std::uint32_t layer) {
  switch (length) {
    case Length::one:
    case Length::one_row:
      return 1;
    case Length::width:
      return config.width;
    case Length::two_widths:
      return std::uint64_t{2} * config.width;
    case Length::three_widths:
      return std::uint64_t{3} * config.width;
    case Length::vocabulary:
      return config.vocabulary;
    case Length::half_rope:
      return config.rope_dim / 2;
    case Length::token_input:
      return config.token_input();
    case Length::all_token_inputs:
      return std::uint64_t{config.token_input()} * config.layer_count();
    default:
      const auto own = [length](const auto& part) { return length_of(part, length); };
      const std::uint64_t of_mixer = std::visit(own, config.block(layer).mixer);
      const std::uint64_t of_block = of_mixer != 0 ? of_mixer : std::visit(own, config.block(layer).feedforward);
      return of_block == 0 && length == Length::expert_width ? config.width : of_block;
  }
}

}  // namespace

TensorShape tensor_shape(Role role, const Config& config, std::uint32_t layer) {
  const TensorRole& row = tensor_role(role);
  TensorShape shape{length_of(row.shape[0], config, layer), length_of(row.shape[1], config, layer), length_of(row.shape[2], config, layer)};
  shape.outputs = row.shape[1] == Length::one ? shape.columns : shape.rows * shape.matrices;
  return shape;
}

}  // namespace skipstone::model
