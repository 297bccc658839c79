#include "speculation/round_costs.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"

namespace skipstone::speculation {

double PassCost::of(const exec::LayerPlan& plan) const {
  double total = rest;
  if (plan.end > local) total += transfer;
  for (std::uint32_t layer = plan.begin; layer < plan.end; ++layer) {
    if (plan.runs_attention(layer)) total += attention;
    if (plan.runs_mlp(layer)) total += mlp;
  }
  return total;
}

double distinct_experts(double used, double overlap, double rows) {
  return overlap <= 0 ? used * rows : used * (1 - std::pow(1 - overlap, rows)) / overlap;
}

double overlap_of_experts(double used, double distinct, double rows) {
  double least = 0, most = 1;
  for (int i = 0; i < 40; ++i) {
    const double middle = (least + most) / 2;
    (distinct_experts(used, middle, rows) > distinct ? least : most) = middle;
  }
  return (least + most) / 2;
}

PassCost RoundCosts::at(std::uint32_t rows) const {
  PassCost cost = buckets_.lower_bound(rows)->second;
  if (cost.expert == 0) return cost;
  const double experts = distinct_experts(experts_used(), overlap_, rows);
  cost.mlp = std::max(0.0, cost.mlp + cost.expert * (experts - cost.experts));
  cost.experts = experts;
  return cost;
}

SetCosts::SetCosts(const RoundCosts& costs, const exec::LayerPlan& set, std::uint32_t layers, bool keep_prefix) {
  if (costs.most_rows() < 2) fail(Code::internal, "the costs of passes with several rows are not known");
  const exec::LayerPlan full = exec::LayerPlan::full(layers);
  exec::LayerPlan first = full, remaining = full;
  first.end = remaining.begin = keep_prefix ? std::min(set.whole_prefix(), layers) : 0;
  plain = costs.at(1).of(full);
  draft = costs.at(1).of(set);
  verify.assign(2, plain);
  const double last_row = first.end == 0 ? 0.0 : costs.at(1).of(first);
  for (std::uint32_t rows = 2; rows <= costs.most_rows(); ++rows) verify.push_back(last_row + costs.at(rows).of(remaining));
}

}  // namespace skipstone::speculation
