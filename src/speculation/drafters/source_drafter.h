// Common bases of drafters whose drafts come one by one from a source, until there are enough or one is unsure; and of those among them
// that run a part of the model's layers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "exec/layer_plan.h"
#include "speculation/acceptance.h"
#include "speculation/drafter.h"

namespace skipstone::speculation {

class SourceDrafter : public Drafter {
 public:
  void begin(const Prefilled&, std::uint32_t) override { policy_.begin(); }

  Proposal propose(std::span<const Token>) override {
    if (source_ == nullptr) return NoDrafts{};
    return PassProposal{source_, max_drafts_, policy_.threshold()};
  }

  void observe(const RoundResult& result) override { policy_.update(result.drafted, result.accepted, result.drafted >= result.limit); }

 protected:
  SourceDrafter(std::uint32_t max_drafts, const StopParams& stop, SharedSource source = nullptr)
      : max_drafts_(max_drafts), policy_(stop), source_(std::move(source)) {}
  void set_limits(std::uint32_t max_drafts, const StopParams& stop) {
    max_drafts_ = max_drafts;
    policy_ = StopPolicy(stop);
  }
  /// Null: nothing is proposed.
  void set_source(SharedSource source) { source_ = std::move(source); }

 private:
  std::uint32_t max_drafts_;
  StopPolicy policy_;
  SharedSource source_;
};

struct SkipLayerDrafterParams {
  std::uint32_t max_drafts = 12;
  bool keep_prefix = true;  ///< verification starts after the layers before the first skipped one
  StopParams stop;
};

class SkipLayerDrafter : public SourceDrafter {
 public:
  explicit SkipLayerDrafter(const SkipLayerDrafterParams& params)
      : SourceDrafter(params.max_drafts, params.stop), keep_prefix_(params.keep_prefix) {}

  DrafterReport report() const override { return {plan_text_, skipped_, {}, {}}; }

 protected:
  /// Before set_plan().
  void set_params(const SkipLayerDrafterParams& params) {
    set_limits(params.max_drafts, params.stop);
    keep_prefix_ = params.keep_prefix;
  }
  /// A plan that leaves nothing out proposes nothing: a draft would cost as much as it saves. `mlp_share`: as of LayerPass.
  void set_plan(const exec::LayerPlan& plan, std::uint32_t model_layers, double mlp_share = 1) {
    skipped_ = plan.skipped_sublayers(model_layers);
    const bool whole = skipped_ == 0 && plan.experts == 0;
    set_source(whole ? nullptr : std::make_shared<LayerPass>(plan, keep_prefix_, mlp_share));
    plan_text_ = whole ? std::string{} : plan.print(model_layers);
  }

 private:
  bool keep_prefix_;
  std::uint32_t skipped_ = 0;
  std::string plan_text_;
};

}  // namespace skipstone::speculation
