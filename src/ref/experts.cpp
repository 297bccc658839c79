#include "ref/experts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

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

}  // namespace skipstone::ref
