// The dispatches of model::Mlp.
#include <fmt/format.h>

#include "exec/pass_dispatches.h"

namespace skipstone::exec {

using kernels::ResourceKind;

kernels::Activation kernel_activation(model::Activation activation) {
  switch (activation) {
    case model::Activation::gated_silu:
      return kernels::Activation::gated_silu;
    case model::Activation::gated_gelu:
      return kernels::Activation::gated_gelu;
    case model::Activation::squared_relu:
      return kernels::Activation::squared_relu;
    case model::Activation::clamped_silu:
      return kernels::Activation::clamped_silu;
    case model::Activation::gelu:
      break;
  }
  return kernels::Activation::gelu;
}

const char* activation_label(model::Activation activation) {
  switch (activation) {
    case model::Activation::gelu:
      return "gelu";
    case model::Activation::gated_gelu:
      return "geglu";
    case model::Activation::squared_relu:
      return "squared_relu";
    case model::Activation::gated_silu:
    case model::Activation::clamped_silu:
      break;
  }
  return "swiglu";
}

void append_activations(PassDispatches& pass, const model::MlpWeights& own, const model::Mlp& mlp, const MlpInput& input) {
  const kernels::Resource x = input.x;
  const std::optional<kernels::MatvecNorm>& norm = input.norm;
  const std::string& prefix = input.prefix;
  const kernels::Activation activation = kernel_activation(mlp.activation);
  const bool fused = pass.fused() && kernels::is_epilogue(activation);
  const auto activate = [&] {
    pass.append(kernels::activate(pass.select(), activation, mlp.width, pass.spec().bucket,
                                  input.activation_prefix + activation_label(mlp.activation)));
  };
  if (own.gate_up && own.gate_up->parts.size() == 1 && fused) {
    pass.multiply(*own.gate_up, x, {ResourceKind::activated}, {.norm = norm, .activation = activation}, prefix + "gate_up");
  } else if (own.gate_up) {
    pass.multiply(*own.gate_up, x, {ResourceKind::gate_up}, {.norm = norm}, prefix + "gate_up");
    activate();
  } else if (!own.gate && fused) {
    pass.multiply(*own.up, x, {ResourceKind::activated}, {.norm = norm, .bias_tensor = own.gate_up_bias, .activation = activation},
                  prefix + "up");
  } else {
    const std::uint32_t all = own.gate ? 2 * mlp.width : mlp.width;
    if (own.gate) {
      pass.multiply(*own.gate, x, {ResourceKind::gate_up}, {.norm = norm, .bias_tensor = own.gate_up_bias, .y_width = all},
                    prefix + "gate");
    }
    pass.multiply(*own.up, x, {ResourceKind::gate_up},
                  {.norm = norm, .bias_tensor = own.gate_up_bias, .y_first = all - mlp.width, .y_width = all}, prefix + "up");
    activate();
  }
}

void append_feedforward(PassDispatches& pass, std::uint32_t layer, const model::Mlp& mlp) {
  const model::LayerWeights& weights = pass.context().weights.layers[layer];
  const auto& own = std::get<model::MlpWeights>(weights.feedforward);
  const std::string blk = fmt::format("blk.{}.", layer);
  const auto [x, norm] = pass.normalise_ffn(weights.ffn_norm, blk + "ffn_norm");
  append_activations(pass, own, mlp, {x, norm, blk + "ffn_", blk});
  const kernels::Resource sum{ResourceKind::gate_up};
  pass.add_to_residual({own.down,
                        {ResourceKind::activated},
                        own.down_bias,
                        weights.ffn_post_norm,
                        blk + "ffn_down",
                        blk + "post_ffw_norm",
                        weights.token_addition ? std::optional(sum) : std::nullopt,
                        weights.token_addition ? std::nullopt : weights.output_scale});
  if (weights.token_addition) append_token_addition(pass, layer, sum);
}

}  // namespace skipstone::exec
