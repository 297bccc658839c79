#include "speculation/round_costs.h"

#include <algorithm>

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
