#include "spec/drafters/skip.h"

#include "base/status.h"

namespace skipstone::spec {
namespace {

class Skip final : public PlanDrafter {
 public:
  explicit Skip(const SkipParams& params) : PlanDrafter(params.drafts), text_(params.plan) {}

  std::string name() const override { return "skip"; }

  void attach(const ModelFacts& model) override {
    const exec::LayerPlan plan = exec::LayerPlan::parse(text_, model.layers);
    if (plan.begin > 0) fail(Code::invalid_argument, "drafter skip: '{}' leaves the first layers out; write them as attn:0;mlp:0", text_);
    if (plan.skipped_sublayers(model.layers) == 0) {
      fail(Code::invalid_argument, "drafter skip: '{}' skips nothing, so a draft would cost what it is to save", text_);
    }
    set_plan(plan, model.layers);
  }

 private:
  std::string text_;
};

}  // namespace

std::unique_ptr<Drafter> make_skip(Options& options) {
  SkipParams params;
  params.plan = options.value("PLAN");
  params.drafts.max_drafts = options.whole("k", params.drafts.max_drafts, 1, 256);
  read_stop_options(options, params.drafts.stop);
  params.drafts.keep_prefix = options.flag("reuse", params.drafts.keep_prefix);
  return std::make_unique<Skip>(params);
}

}  // namespace skipstone::spec
