// The model itself with fewer experts for each token drafts: a draft reads the weights of its best experts alone. Verification takes all
// that the model takes, so no text changes. Self-drafts with less work a layer: Zhang et al., "Draft & Verify" (arXiv 2309.08168); fewer
// experts at inference: Lu et al., "Not All Experts are Equal", ACL 2024 (arXiv 2402.14800).
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "base/number.h"
#include "base/status.h"
#include "speculation/drafters/drafters.h"
#include "speculation/options.h"

namespace skipstone::speculation {
namespace {

class FewerExperts final : public SkipLayerDrafter {
 public:
  /// `experts`: of each token; 0: a quarter of the model's.
  FewerExperts(std::uint32_t experts, const SkipLayerDrafterParams& params) : SkipLayerDrafter(params), experts_(experts) {}

  std::string name() const override { return "experts"; }

  void attach(const ModelFacts& model) override {
    if (model.experts_used < 2) {
      fail(Code::invalid_argument, "drafter experts: {}",
           model.experts_used == 0 ? "the model has no experts" : "the model's tokens have one expert each, so that there are no fewer");
    }
    if (experts_ >= model.experts_used) {
      fail(Code::invalid_argument, "drafter experts: {} are not fewer than the {} experts that each token of the model has", experts_,
           model.experts_used);
    }
    exec::LayerPlan plan = exec::LayerPlan::full(model.layers);
    plan.experts = experts_ != 0 ? experts_ : std::max(1u, model.experts_used / 4);
    set_plan(plan, model.layers, static_cast<double>(plan.experts) / model.experts_used);
  }

 private:
  std::uint32_t experts_;
};

std::uint32_t parse_experts(const std::string& text) {
  const auto experts = parse_number<std::uint32_t>(text);
  if (!experts || *experts == 0) {
    fail(Code::invalid_argument, "drafter experts: '{}' is not a number of experts; write experts:N, as in experts:2", text);
  }
  return *experts;
}

}  // namespace

std::unique_ptr<Drafter> make_experts(Options& options) {
  const std::string given = options.value("N");
  SkipLayerDrafterParams params;
  params.keep_prefix = false;
  params.max_drafts = options.whole("k", params.max_drafts, 1, 256);
  read_stop_options(options, params.stop);
  return std::make_unique<FewerExperts>(given.empty() ? 0 : parse_experts(given), params);
}

}  // namespace skipstone::speculation
