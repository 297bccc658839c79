// Common base of the drafters that run a part of the model: one LayerPlan, a most number of drafts, and a threshold that ends a round.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "exec/layer_plan.h"
#include "speculation/acceptance.h"
#include "speculation/drafter.h"

namespace skipstone::speculation {

struct SkipLayerDrafterParams {
  std::uint32_t max_drafts = 12;
  bool keep_prefix = true;  ///< verification starts after the layers before the first skipped one
  StopParams stop;
};

class SkipLayerDrafter : public Drafter {
 public:
  explicit SkipLayerDrafter(const SkipLayerDrafterParams& params) : params_(params), policy_(params.stop) {}

  void begin(const Prefilled&, std::uint32_t) override { policy_.begin(); }

  Proposal propose(std::span<const Token>) override {
    if (skipped_ == 0) return NoDrafts{};  // a draft would cost as much as it saves
    return PassProposal{source_, params_.max_drafts, policy_.threshold()};
  }

  void observe(const RoundResult& result) override { policy_.update(result.drafted, result.accepted, result.drafted >= result.limit); }

  DrafterReport report() const override { return {plan_text_, skipped_, {}, {}}; }

 protected:
  /// Before set_plan().
  void set_params(const SkipLayerDrafterParams& params) {
    params_ = params;
    policy_ = StopPolicy(params.stop);
  }
  void set_plan(const exec::LayerPlan& plan, std::uint32_t model_layers) {
    source_ = std::make_shared<LayerPass>(plan, params_.keep_prefix);
    skipped_ = plan.skipped_sublayers(model_layers);
    plan_text_ = skipped_ == 0 ? std::string{} : plan.print(model_layers);
  }

 private:
  SkipLayerDrafterParams params_;
  StopPolicy policy_;
  SharedSource source_;
  std::uint32_t skipped_ = 0;
  std::string plan_text_;
};

}  // namespace skipstone::speculation
