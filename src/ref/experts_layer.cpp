// Mixtures of experts with weights as floats.
#include <cstddef>
#include <vector>

#include "ref/experts.h"
#include "ref/layers.h"
#include "ref/operations.h"
#include "ref/recurrent.h"

namespace skipstone::ref {
namespace {

struct ExpertsWeights {
  model::Experts experts;
  Linear router, shared_router, latent_down, latent_up;
  std::vector<Linear> gates, ups, downs;
  Floats correction;
  Computation shared;

  ExpertsWeights(const model::Experts& like, const model::Parameters& t);
  Floats run(const LayerRows& at, const Floats& input) const;
  /// The sum of the chosen experts' outputs for one row.
  std::vector<double> mix(const Floats& x, std::span<const float> logits) const;
};

ExpertsWeights::ExpertsWeights(const model::Experts& like, const model::Parameters& t) : experts(like), router(t[model::Role::router]) {
  using model::Role;
  if (t[Role::expert_gate]) gates = Linear::of_stack(t[Role::expert_gate]);
  ups = Linear::of_stack(t[Role::expert_up]);
  downs = Linear::of_stack(t[Role::expert_down]);
  if (experts.corrected) correction = weights(*t[Role::router_correction].weight);
  if (experts.latent != 0) latent_down = Linear(t[Role::latent_down]), latent_up = Linear(t[Role::latent_up]);
  if (experts.has_shared_gate()) shared_router = Linear(t[Role::shared_router]);
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
    const Floats output =
        downs[e].apply(activate(experts.activation, gates.empty() ? Floats() : gates[e].apply(x, 1), ups[e].apply(x, 1)), 1);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(chosen.weight) * static_cast<double>(output[i]);
  }
  return sum;
}

Floats ExpertsWeights::run(const LayerRows& at, const Floats& input) const {
  const Floats logits = router.apply(input, at.rows), seen = experts.latent != 0 ? latent_down.apply(input, at.rows) : input;
  const std::size_t width = seen.size() / at.rows;
  Floats out(seen.size());
  for (std::size_t r = 0; r < at.rows; ++r) {
    const std::span<const float> row = row_of(seen, r, width);
    const std::vector<double> sum = mix(Floats(row.begin(), row.end()), row_of(logits, r, experts.count));
    for (std::size_t i = 0; i < width; ++i) out[r * width + i] = static_cast<float>(sum[i]);
  }
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
