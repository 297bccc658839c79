// ASD: the skip set is made from the prompt itself, while it is read. No search, no training.
// Metel et al., "Draft on the Fly: Adaptive Self-Speculative Decoding using Cosine Similarity", 2024 (arXiv 2410.01028).
#include <string>

#include "base/status.h"
#include "speculation/drafters/drafters.h"

namespace skipstone::speculation {
namespace {

class Asd final : public SkipLayerDrafter, private SkipSetTuner {
 public:
  explicit Asd(const AsdParams& params) : SkipLayerDrafter(params.drafts), params_(params) {}

  std::string name() const override { return "asd"; }
  DrafterTraits traits() const override { return {.attention_cosine = params_.cosine}; }

  void begin(const Prefilled& prefilled, std::uint32_t model_layers) override {
    layers_ = model_layers;
    refreshed_ = 0;
    set_plan(asd_plan(params_, prefilled.attention_cosine, model_layers), model_layers);
    SkipLayerDrafter::begin(prefilled, model_layers);
  }

  SkipSetTuner* skip_sets() override { return this; }

 private:
  bool wants_refresh(std::uint64_t generated) const override {
    return params_.refresh > 0 && params_.cosine && generated >= refreshed_ + params_.refresh;
  }

  bool refresh(std::span<const float> attention_cosine, std::uint64_t generated) override {
    if (!wants_refresh(generated)) return false;
    refreshed_ = generated;
    const std::string before = report().plan;
    set_plan(asd_plan(params_, attention_cosine, layers_), layers_);
    return report().plan != before;
  }

  AsdParams params_;
  std::uint32_t layers_ = 0;
  std::uint64_t refreshed_ = 0;  ///< tokens that this generation had at the last refresh
};

}  // namespace

exec::LayerPlan asd_plan(const AsdParams& params, std::span<const float> attention_cosine, std::uint32_t layers) {
  exec::LayerPlan plan = exec::LayerPlan::full(layers);
  if (params.cosine && attention_cosine.size() != layers) {
    fail(Code::internal, "drafter asd: the prompt's pass gave {} attention cosines for {} layers", attention_cosine.size(), layers);
  }
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    if (params.rule2 && layers - layer <= params.m) break;  // rule 2 overrides all others
    const bool similar = params.cosine && attention_cosine[layer] >= static_cast<float>(params.c);
    const bool nth = params.rule1 && (layer + 1) % params.n == 0;  // layers n, 2n, ... counted from 1
    if (similar || nth) plan.skip_attention.set(layer);
    if (nth) plan.skip_mlp.set(layer);
  }
  return plan;
}

std::unique_ptr<Drafter> make_asd(Options& options) {
  constexpr std::uint32_t most = exec::LayerPlan::max_layers;
  AsdParams params;
  params.c = options.real("c", params.c, -1.0, 1.0);
  params.n = options.whole("n", params.n, 1, most, "; rule1=0 turns the skipping of every n-th sublayer off");
  params.m = options.whole("m", params.m, 0, most);
  params.drafts.max_drafts = options.whole("k", params.drafts.max_drafts, 1, 256);
  read_stop_options(options, params.drafts.stop);
  params.cosine = options.flag("cs", params.cosine);
  params.rule1 = options.flag("rule1", params.rule1);
  params.rule2 = options.flag("rule2", params.rule2);
  params.drafts.keep_prefix = options.flag("reuse", params.drafts.keep_prefix);
  params.refresh = options.whole("refresh", params.refresh, 0, 1u << 20);
  if (params.refresh > 0 && !params.cosine) {
    fail(Code::invalid_argument, "drafter asd: refresh={} has nothing to measure with cs=0; leave one of them out", params.refresh);
  }
  return std::make_unique<Asd>(params);
}

}  // namespace skipstone::speculation
