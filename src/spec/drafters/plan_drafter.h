// What the drafters that run a part of the model have in common: one LayerPlan, a most number of drafts, and a threshold that ends a round.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "exec/layer_plan.h"
#include "spec/drafter.h"
#include "spec/options.h"
#include "spec/stop_policy.h"

namespace skipstone::spec {

struct PlanDrafterParams {
  std::uint32_t max_drafts = 12;
  std::optional<bool> keep_prefix;  ///< verification starts behind the layers before the first skipped one; unset: where these are enough
  StopParams stop;
};

/// `reuse=`: auto, 1 or 0; `fallback` where it is auto or not given.
inline std::optional<bool> read_reuse(Options& options, std::optional<bool> fallback = {}) {
  const std::size_t choice = options.choice("reuse", {"auto", "1", "0"});
  return choice == 0 ? fallback : std::optional(choice == 1);
}

class PlanDrafter : public Drafter {
 public:
  explicit PlanDrafter(const PlanDrafterParams& params) : params_(params), policy_(params.stop) {}

  void begin(const Prefilled&, std::uint32_t) override { policy_.begin(); }

  Proposal propose(std::span<const Token>) override {
    if (skipped_ == 0) return {};  // a draft would cost what it is to save
    return {TokenTree(), plan_, params_.max_drafts, keep_prefix_, policy_.threshold()};
  }

  void observe(const RoundResult& result) override { policy_.update(result.drafted, result.accepted, result.drafted >= result.limit); }

  std::string plan_text() const override { return plan_text_; }
  std::uint32_t skipped_sublayers() const override { return skipped_; }

 protected:
  void set_params(const PlanDrafterParams& params) {
    params_ = params;
    policy_ = StopPolicy(params.stop);
  }
  void set_plan(const exec::LayerPlan& plan, std::uint32_t model_layers) {
    plan_ = plan;
    keep_prefix_ = params_.keep_prefix.value_or(layers_by_prefix * plan.whole_prefix() >= model_layers);
    skipped_ = plan.skipped_sublayers(model_layers);
    plan_text_ = skipped_ == 0 ? std::string{} : plan.print(model_layers);
  }

 private:
  /// A prefix of less than a quarter of the layers saves about what the last draft's own pass through it costs
  /// (docs/results/self_speculation.md).
  static constexpr std::uint32_t layers_by_prefix = 4;

  PlanDrafterParams params_;
  StopPolicy policy_;
  exec::LayerPlan plan_;
  bool keep_prefix_ = true;
  std::uint32_t skipped_ = 0;
  std::string plan_text_;
};

}  // namespace skipstone::spec
