#include "speculation/plain_time.h"

#include <algorithm>

#include "exec/layer_plan.h"

namespace skipstone::speculation {

/// The cost of a pass of the whole model.
std::optional<double> PlainTime::pass(std::uint32_t rows) const {
  if (costs_ == nullptr || costs_->most_rows() < 2) return std::nullopt;
  return costs_->at(std::min(rows, costs_->most_rows())).of(exec::LayerPlan::full(layers_));
}

/// Kept for the next round, which mostly has the same source.
const std::optional<SetCosts>& PlainTime::costs_with(const SharedSource& source) {
  if (source_ != source) {
    source_ = source;
    source_costs_ = pass(1) ? source->costs(*costs_, layers_) : std::nullopt;
  }
  return source_costs_;
}

void PlainTime::add(double seconds, std::optional<double> share) {
  if (!share) return;
  seconds_ += seconds * std::clamp(*share, 0.0, 1.0);
  ++rounds_;
}

void PlainTime::add_verification(double seconds, std::uint32_t rows, std::uint32_t others, const SharedSource& source) {
  if (rows <= 1) return add(seconds, 1.0);
  if (source && others == 0) {
    // The verification may continue from what the drafts have left.
    const std::optional<SetCosts>& costs = costs_with(source);
    if (costs && rows < costs->verify.size()) return add(seconds, costs->plain / costs->verify[rows]);
  }
  const std::optional<double> one = pass(1 + others), all = pass(rows + others);
  if (one && all) add(seconds, *one / *all);
}

void PlainTime::add_round(double seconds, std::uint32_t drafts, const SharedSource& source) {
  const std::optional<SetCosts>& costs = costs_with(source);
  if (costs && drafts + 1 < costs->verify.size()) add(seconds, costs->plain / (drafts * costs->draft + costs->verify[drafts + 1]));
}

std::optional<double> PlainTime::seconds_per_token() const {
  return rounds_ == 0 ? std::nullopt : std::optional(seconds_ / static_cast<double>(rounds_));
}

}  // namespace skipstone::speculation
