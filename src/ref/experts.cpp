// Mixtures of experts: the choice of experts, and layers with weights as floats.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "ref/layers.h"
#include "ref/operations.h"
#include "ref/recurrent.h"

namespace skipstone::ref {
namespace {

constexpr double lowest = -std::numeric_limits<double>::infinity();

/// What the choice compares.
std::vector<double> scores_of(const model::Experts& experts, std::span<const float> logits, std::span<const float> correction) {
  std::vector<double> scores(logits.size());
  for (std::size_t e = 0; e < scores.size(); ++e) {
    const auto logit = static_cast<double>(logits[e]);
    scores[e] = experts.gating == model::Gating::sigmoid ? sigmoid(logit) : logit;  // a softmax keeps the order
    if (!correction.empty()) scores[e] += static_cast<double>(correction[e]);
    if (std::isnan(scores[e])) scores[e] = lowest;
  }
  return scores;
}

/// The indices of the `count` largest, the largest first.
std::vector<std::uint32_t> largest(std::span<const double> scores, std::size_t count) {
  std::vector<std::uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return scores[a] > scores[b]; });
  order.resize(count);
  return order;
}

/// Leaves the scores of the best groups alone.
void keep_groups(const model::Experts& experts, std::span<double> scores) {
  const std::size_t in_group = experts.count / experts.groups;
  std::vector<double> sums;
  for (std::size_t group = 0; group < experts.groups; ++group) {
    const std::span<const double> own = scores.subspan(group * in_group, in_group);
    const std::vector<std::uint32_t> best = largest(own, 2);
    sums.push_back(own[best[0]] + own[best[1]]);
  }
  const std::vector<std::uint32_t> kept = largest(sums, experts.groups_used);
  for (std::size_t e = 0; e < scores.size(); ++e) {
    if (std::ranges::find(kept, e / in_group) == kept.end()) scores[e] = lowest;
  }
}

}  // namespace

std::vector<ChosenExpert> choose_experts(const model::Experts& experts, std::span<const float> logits, std::span<const float> correction) {
  std::vector<double> scores = scores_of(experts, logits, correction);
  if (experts.groups > 1) keep_groups(experts, scores);
  const std::vector<std::uint32_t> chosen = largest(scores, experts.used);
  std::vector<double> weights;
  double sum = 0.0, most = lowest;
  for (const float logit : logits) most = std::max(most, static_cast<double>(logit));
  const auto power = [&](std::size_t e) { return std::exp(static_cast<double>(logits[e]) - most); };
  for (const std::uint32_t e : chosen) {
    weights.push_back(experts.gating == model::Gating::sigmoid ? sigmoid(static_cast<double>(logits[e])) : power(e));
    sum += weights.back();
  }
  double divisor = 1.0;
  if (experts.renormalised || experts.gating == model::Gating::softmax_of_chosen) {
    divisor = std::max(sum, 1e-20);
  } else if (experts.gating == model::Gating::softmax) {
    divisor = 0.0;
    for (std::size_t e = 0; e < logits.size(); ++e) divisor += power(e);
  }
  std::vector<ChosenExpert> result;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    result.push_back({chosen[i], static_cast<float>(weights[i] / divisor * static_cast<double>(experts.scale))});
  }
  return result;
}

namespace {

struct ExpertsWeights {
  model::Experts experts;
  Linear router, shared_router, latent_down, latent_up;
  std::vector<Linear> gates, ups, downs;
  Floats correction;
  Computation shared;
  NormWeights router_norm, input_norm, output_norm, shared_norm, shared_output_norm;  ///< Experts::own_norms

  ExpertsWeights(const model::Experts& like, const model::Parameters& t);
  Floats run(const LayerRows& at, const Floats& input) const;
  /// The sum of the chosen experts' outputs for each row of `seen`.
  Floats mix(const Floats& seen, const Floats& logits, std::size_t rows) const;
  std::vector<double> mix(const Floats& x, std::span<const float> logits) const;
  Floats run_with_own_norms(const LayerRows& at, const Floats& x) const;
};

ExpertsWeights::ExpertsWeights(const model::Experts& like, const model::Parameters& t) : experts(like), router(t[model::Role::router]) {
  using model::Role;
  if (t[Role::expert_gate]) gates = Linear::of_stack(t[Role::expert_gate]);
  ups = Linear::of_stack(t[experts.fused_gate_up ? Role::expert_gate_up : Role::expert_up]);
  downs = Linear::of_stack(t[Role::expert_down]);
  if (experts.corrected) correction = weights(*t[Role::router_correction].weight);
  if (experts.latent != 0) latent_down = Linear(t[Role::latent_down]), latent_up = Linear(t[Role::latent_up]);
  if (experts.has_shared_gate()) shared_router = Linear(t[Role::shared_router]);
  router_norm = NormWeights(t[Role::router_norm]);
  input_norm = NormWeights(t[Role::expert_norm]);
  output_norm = NormWeights(t[Role::expert_post_norm]);
  shared_norm = NormWeights(t[Role::ffn_norm]);
  shared_output_norm = NormWeights(t[Role::shared_post_norm]);
  if (experts.shared_width == 0) return;
  model::Parameters own;
  own[Role::gate] = t[Role::shared_gate];
  own[Role::up] = t[Role::shared_up];
  own[Role::down] = t[Role::shared_down];
  shared = load_part(model::Mlp{.width = experts.shared_width, .activation = experts.activation}, own);
}

std::vector<double> ExpertsWeights::mix(const Floats& x, std::span<const float> logits) const {
  std::vector<double> sum(x.size());
  for (const ChosenExpert& chosen : choose_experts(experts, logits, correction)) {
    const std::size_t e = chosen.expert;
    Floats gate, up = ups[e].apply(x, 1);
    if (!gates.empty()) gate = gates[e].apply(x, 1);
    if (experts.fused_gate_up) {
      const auto half = up.begin() + experts.width;
      gate.assign(up.begin(), half);
      up.erase(up.begin(), half);
    }
    const Floats output = downs[e].apply(activate(experts.activation, gate, up), 1);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(chosen.weight) * static_cast<double>(output[i]);
  }
  return sum;
}

Floats ExpertsWeights::mix(const Floats& seen, const Floats& logits, std::size_t rows) const {
  const std::size_t width = seen.size() / rows;
  Floats out(seen.size());
  for (std::size_t r = 0; r < rows; ++r) {
    const std::span<const float> row = row_of(seen, r, width);
    const std::vector<double> sum = mix(Floats(row.begin(), row.end()), row_of(logits, r, experts.count));
    for (std::size_t i = 0; i < width; ++i) out[r * width + i] = static_cast<float>(sum[i]);
  }
  return out;
}

/// `x`: the residual stream.
Floats ExpertsWeights::run_with_own_norms(const LayerRows& at, const Floats& x) const {
  const float epsilon = at.config.norm_epsilon;
  Floats logits = router.apply(router_norm.apply(x, epsilon), at.rows);
  for (float& logit : logits) logit = static_cast<float>(static_cast<double>(logit) / std::sqrt(static_cast<double>(at.config.width)));
  Floats out = shared_output_norm.apply(shared(at, shared_norm.apply(x, epsilon)), epsilon);
  const Floats mixed = output_norm.apply(mix(input_norm.apply(x, epsilon), logits, at.rows), epsilon);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += mixed[i];
  return out;
}

Floats ExpertsWeights::run(const LayerRows& at, const Floats& input) const {
  if (experts.own_norms) return run_with_own_norms(at, input);
  Floats out = mix(experts.latent != 0 ? latent_down.apply(input, at.rows) : input, router.apply(input, at.rows), at.rows);
  if (experts.latent != 0) out = latent_up.apply(out, at.rows);
  if (!shared) return out;
  const Floats others = shared(at, input), gates_of_rows = experts.has_shared_gate() ? shared_router.apply(input, at.rows) : Floats();
  const std::size_t length = others.size() / at.rows;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double gate = gates_of_rows.empty() ? 1.0 : sigmoid(static_cast<double>(gates_of_rows[i / length]));
    out[i] = static_cast<float>(static_cast<double>(out[i]) + gate * static_cast<double>(others[i]));
  }
  return out;
}

}  // namespace

Computation load_part(const model::Experts& experts, const model::Parameters& t) { return computation<ExpertsWeights>(experts, t); }

}  // namespace skipstone::ref
