// The matrices of a layer, by the kinds of its mixer and feed-forward network.
#include "model/weight_layout.h"

namespace skipstone::model {
namespace {

void add_matrices(const AttentionWeights& weights, std::vector<const kernels::Matrix*>& matrices) {
  for (const Projection& projection : weights.projections) matrices.push_back(&projection.matrix);
  if (weights.latents && weights.latents->q_a) {
    matrices.push_back(&*weights.latents->q_a);
    matrices.push_back(&*weights.latents->q_b);
  }
  matrices.push_back(&weights.o);
}

template <typename Recurrent>
void add_recurrent_matrices(const Recurrent& weights, std::vector<const kernels::Matrix*>& matrices) {
  for (const Projection& projection : weights.in) matrices.push_back(&projection.matrix);
  matrices.push_back(&weights.out);
}
void add_matrices(const ShortConvWeights& weights, std::vector<const kernels::Matrix*>& matrices) {
  add_recurrent_matrices(weights, matrices);
}
void add_matrices(const GatedDeltaNetWeights& weights, std::vector<const kernels::Matrix*>& matrices) {
  add_recurrent_matrices(weights, matrices);
}
void add_matrices(const Mamba2Weights& weights, std::vector<const kernels::Matrix*>& matrices) {
  add_recurrent_matrices(weights, matrices);
}
void add_matrices(const std::monostate&, std::vector<const kernels::Matrix*>&) {}

void add_matrices(const MlpWeights& weights, std::vector<const kernels::Matrix*>& matrices) {
  for (const auto* matrix : {&weights.gate_up, &weights.gate, &weights.up}) {
    if (*matrix) matrices.push_back(&**matrix);
  }
  matrices.push_back(&weights.down);
}

void add_matrices(const ExpertsWeights& weights, std::vector<const kernels::Matrix*>& matrices) {
  for (const Projection& projection : weights.router) matrices.push_back(&projection.matrix);
  for (const auto* matrix : {&weights.latent_down, &weights.latent_up}) {
    if (*matrix) matrices.push_back(&**matrix);
  }
  if (weights.shared) add_matrices(*weights.shared, matrices);
}

}  // namespace

std::vector<const kernels::Matrix*> LayerWeights::matrices() const {
  std::vector<const kernels::Matrix*> all;
  const auto add = [&](const auto& weights) { add_matrices(weights, all); };
  std::visit(add, mixer);
  std::visit(add, feedforward);
  if (token_addition) {
    all.push_back(&token_addition->gate);
    all.push_back(&token_addition->out);
  }
  return all;
}

}  // namespace skipstone::model
