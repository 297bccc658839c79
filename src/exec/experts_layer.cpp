// The dispatches of model::Experts: a router chooses the experts of each row, the rows are grouped by expert, and the products of experts
// read each chosen matrix once. The choice, the groups and the sums stay on the device.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "abi/experts.h"
#include "exec/pass_dispatches.h"

namespace skipstone::exec {
namespace {

using kernels::Resource;
using kernels::ResourceKind;

static_assert(static_cast<int>(model::Gating::softmax) == static_cast<int>(kernels::Gating::softmax) &&
              static_cast<int>(model::Gating::sigmoid) == static_cast<int>(kernels::Gating::sigmoid) &&
              static_cast<int>(model::Gating::softmax_of_chosen) == static_cast<int>(kernels::Gating::softmax_of_chosen));
static_assert(model::most_experts <= EXPERTS_MOST && model::most_experts_used <= EXPERTS_MOST_USED);

/// One layer's experts in a pass.
class ExpertsLayer {
 public:
  ExpertsLayer(PassDispatches& pass, std::uint32_t layer, const model::Experts& experts)
      : pass_(pass),
        weights_(pass.context().weights.layers[layer]),
        own_(std::get<model::ExpertsWeights>(weights_.feedforward)),
        experts_(experts),
        rows_{experts.count, used_by(experts, pass.spec().layers), pass.spec().bucket},
        layer_(layer),
        blk_(fmt::format("blk.{}.", layer)) {}

  void append() {
    if (experts_.own_norms) return append_with_own_norms();
    const Resource x = input();
    choose(x, 1.0f);
    const Resource seen = own_.latent_down ? Resource{ResourceKind::expert_latent} : x;
    if (own_.latent_down) pass_.multiply(*own_.latent_down, x, seen, {}, blk_ + "latent_down");
    multiply(seen);
    if (own_.shared) append_shared(x);
    if (own_.latent_up) return append_expanded();
    combine({.n = width(), .shared = own_.shared ? std::optional(shared_rows) : std::nullopt, .shared_logit = shared_logit()}, rows_);
  }

 private:
  static constexpr Resource shared_rows{ResourceKind::shared_outputs};

  static std::uint32_t used_by(const model::Experts& experts, const LayerPlan& plan) {
    return plan.experts == 0 ? experts.used : std::min(experts.used, plan.experts);
  }
  std::uint32_t width() const { return pass_.config().width; }
  std::optional<std::uint32_t> shared_logit() const { return experts_.has_shared_gate() ? std::optional(experts_.count) : std::nullopt; }

  /// The residual stream, normalised once for all matrices that read it.
  Resource input() {
    if (!weights_.ffn_norm) return pass_.residual();
    pass_.normalise(pass_.residual(), *weights_.ffn_norm, pass_.spec().bucket, false, blk_ + "ffn_norm");
    return {ResourceKind::normed};
  }

  /// `scale`: of the logits.
  void choose(Resource x, float scale) {
    for (const model::Projection& part : own_.router) {
      pass_.multiply(part.matrix, x, {ResourceKind::router_logits},
                     {.bias_tensor = part.first == 0 ? own_.router_bias : std::nullopt,
                      .scale = scale,
                      .y_first = part.first,
                      .y_width = experts_.logits()},
                     blk_ + part.name);
    }
    pass_.append(kernels::route(pass_.select(),
                                {.gating = static_cast<kernels::Gating>(experts_.gating),
                                 .renormalised = experts_.renormalised,
                                 .correction = own_.correction,
                                 .groups = experts_.groups,
                                 .groups_used = experts_.groups_used,
                                 .logits = experts_.logits(),
                                 .scale = experts_.scale},
                                rows_, blk_ + "route"));
    pass_.append(kernels::group_experts(pass_.select(), rows_, layer_, blk_ + "group_experts"));
  }

  void multiply(Resource x) {
    const Resource gate_up{ResourceKind::expert_gate_up}, activated{ResourceKind::expert_activated};
    const std::uint32_t all = experts_.gated() ? 2 * experts_.width : experts_.width;
    const auto product = [&](const kernels::Matrix& stack, Resource in, bool by_row, Resource out, const kernels::MatvecFusion& fusion,
                             const char* name) {
      pass_.append(kernels::expert_product(pass_.select(), stack, rows_, in, by_row, out, fusion, blk_ + name));
    };
    if (experts_.fused_gate_up) {
      product(own_.up, x, true, gate_up, {}, "expert_gate_up");
    } else {
      if (own_.gate) product(*own_.gate, x, true, gate_up, {.bias_tensor = own_.gate_bias, .y_width = all}, "expert_gate");
      product(own_.up, x, true, gate_up, {.bias_tensor = own_.up_bias, .y_first = all - experts_.width, .y_width = all}, "expert_up");
    }
    pass_.append(kernels::activate(pass_.select(), kernel_activation(experts_.activation), experts_.width, rows_.slots(),
                                   blk_ + "expert_" + activation_label(experts_.activation), true));
    product(own_.down, activated, false, {ResourceKind::expert_outputs}, {.bias_tensor = own_.down_bias}, "expert_down");
  }

  /// The residual stream by a norm of the experts' own.
  Resource normalised(std::uint32_t weight, const char* name) {
    pass_.normalise(pass_.residual(), {.weight = weight}, pass_.spec().bucket, false, blk_ + name);
    return {ResourceKind::normed};
  }

  void normalise_output(Resource x, std::uint32_t weight, std::optional<Resource> residual, Resource out, const char* name) {
    pass_.append(kernels::norm(
        pass_.select(), {.x = x, .out = out, .weight = weight, .residual = residual, .n = width(), .epsilon = pass_.config().norm_epsilon},
        rows_.rows, blk_ + name));
  }

  /// The shared expert and the others, each between two norms; then the norm of their sum.
  void append_with_own_norms() {
    const Resource output{ResourceKind::normed}, sum{ResourceKind::gate_up};
    const auto [x, norm] = pass_.normalise(weights_.ffn_norm, blk_ + "ffn_norm");
    append_activations(pass_, *own_.shared, shared_mlp(), {x, norm, blk_ + "ffn_", blk_});
    pass_.multiply(own_.shared->down, {ResourceKind::activated}, output, {.bias_tensor = own_.shared->down_bias}, blk_ + "ffn_down");
    normalise_output(output, *own_.shared_output_norm, {}, shared_rows, "post_ffw_norm_1");
    choose(normalised(*own_.router_norm, "router_norm"), 1.0f / std::sqrt(static_cast<float>(width())));
    multiply(normalised(*own_.input_norm, "pre_ffw_norm_2"));
    pass_.append(kernels::combine_experts(pass_.select(), {.n = width()}, rows_, output, blk_ + "combine_experts"));
    normalise_output(output, *own_.output_norm, shared_rows, sum, "post_ffw_norm_2");
    pass_.add_normalised({sum, *weights_.ffn_post_norm, blk_ + "post_ffw_norm", {}, weights_.output_scale});
  }

  model::Mlp shared_mlp() const { return {.width = experts_.shared_width, .activation = experts_.activation}; }

  void append_shared(Resource x) {
    append_activations(pass_, *own_.shared, shared_mlp(), {x, {}, blk_ + "shared_", blk_ + "shared_"});
    pass_.multiply(own_.shared->down, {ResourceKind::activated}, shared_rows, {.bias_tensor = own_.shared->down_bias},
                   blk_ + "shared_down");
  }

  /// Experts in a latent space: the sum of their outputs there, expanded, and the shared expert's.
  void append_expanded() {
    const Resource latent{ResourceKind::expert_latent}, expanded{ResourceKind::normed};
    pass_.append(kernels::combine_experts(pass_.select(), {.n = experts_.latent}, rows_, latent, blk_ + "combine_latent"));
    pass_.multiply(*own_.latent_up, latent, expanded, {.residual = own_.shared ? std::optional(shared_rows) : std::nullopt},
                   blk_ + "latent_up");
    combine({.n = width(), .shared = expanded}, {experts_.count, 0, rows_.rows});
  }

  /// Into the residual stream.
  void combine(kernels::ExpertSum sum, const kernels::ExpertRows& rows) {
    sum.logits = experts_.logits();
    sum.residual = pass_.residual();
    sum.scale = pass_.config().residual_scale;
    pass_.append(kernels::combine_experts(pass_.select(), sum, rows, pass_.other_residual(), blk_ + "combine_experts"));
  }

  PassDispatches& pass_;
  const model::LayerWeights& weights_;
  const model::ExpertsWeights& own_;
  const model::Experts& experts_;
  kernels::ExpertRows rows_;
  std::uint32_t layer_;
  std::string blk_;
};

}  // namespace

const char* missing_on_devices(const model::LayerConfig& layer, const model::Experts& experts) {
  if (layer.norm_after != (experts.own_norms ? model::Norm::rms : model::Norm::none)) return "norms after experts";
  if (layer.token_input != 0) return "per-layer embeddings beside experts";
  if (layer.parallel) return "experts beside attention in parallel";
  return experts.latent != 0 && experts.has_shared_gate() ? "a gated shared expert beside experts in a latent space" : nullptr;
}

void append_feedforward(PassDispatches& pass, std::uint32_t layer, const model::Experts& experts) {
  ExpertsLayer(pass, layer, experts).append();
}

}  // namespace skipstone::exec
