// The dispatches of model::Mlp.
#include <fmt/format.h>

#include "exec/pass_dispatches.h"

namespace skipstone::exec {
namespace {

using kernels::ResourceKind;

kernels::Activation kernel_activation(model::Activation activation) {
  switch (activation) {
    case model::Activation::gated_silu:
      return kernels::Activation::gated_silu;
    case model::Activation::gated_gelu:
      return kernels::Activation::gated_gelu;
    case model::Activation::squared_relu:
      return kernels::Activation::squared_relu;
    case model::Activation::gelu:
      break;
  }
  return kernels::Activation::gelu;
}

void activate(PassDispatches& pass, const model::Mlp& mlp, const std::string& blk) {
  const char* name = mlp.activation == model::Activation::gelu           ? "gelu"
                     : mlp.activation == model::Activation::gated_gelu   ? "geglu"
                     : mlp.activation == model::Activation::squared_relu ? "squared_relu"
                                                                         : "swiglu";
  pass.append(kernels::activate(pass.select(), kernel_activation(mlp.activation), mlp.width, pass.spec().bucket, blk + name));
}

}  // namespace

void append_feedforward(PassDispatches& pass, std::uint32_t layer, const model::Mlp& mlp) {
  const model::LayerWeights& weights = pass.context().weights.layers[layer];
  const auto& own = std::get<model::MlpWeights>(weights.feedforward);
  const std::string blk = fmt::format("blk.{}.", layer);
  const auto [x, norm] = pass.normalise(weights.ffn_norm, blk + "ffn_norm");
  const kernels::Activation activation = kernel_activation(mlp.activation);
  if (own.gate_up && own.gate_up->parts.size() == 1 && pass.fused()) {
    pass.multiply(*own.gate_up, x, {ResourceKind::activated}, {.norm = norm, .activation = activation}, blk + "ffn_gate_up");
  } else if (own.gate_up) {
    pass.multiply(*own.gate_up, x, {ResourceKind::gate_up}, {.norm = norm}, blk + "ffn_gate_up");
    activate(pass, mlp, blk);
  } else if (!own.gate && pass.fused() && activation != kernels::Activation::squared_relu) {
    pass.multiply(*own.up, x, {ResourceKind::activated}, {.norm = norm, .bias_tensor = own.gate_up_bias, .activation = activation},
                  blk + "ffn_up");
  } else {
    const std::uint32_t all = own.gate ? 2 * mlp.width : mlp.width;
    if (own.gate) {
      pass.multiply(*own.gate, x, {ResourceKind::gate_up}, {.norm = norm, .bias_tensor = own.gate_up_bias, .y_width = all},
                    blk + "ffn_gate");
    }
    pass.multiply(*own.up, x, {ResourceKind::gate_up},
                  {.norm = norm, .bias_tensor = own.gate_up_bias, .y_first = all - mlp.width, .y_width = all}, blk + "ffn_up");
    activate(pass, mlp, blk);
  }
  pass.add_to_residual(
      {own.down, {ResourceKind::activated}, own.down_bias, weights.ffn_post_norm, blk + "ffn_down", blk + "post_ffw_norm"});
}

}  // namespace skipstone::exec
