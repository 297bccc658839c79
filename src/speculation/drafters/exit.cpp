// LayerSkip: drafts leave the model after its first E layers, through the shared final norm and head; verification continues from there.
// Elhoushi et al., "LayerSkip: Enabling Early Exit Inference and Self-Speculative Decoding", ACL 2024 (arXiv 2404.16710), section 3.3.
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "base/number.h"
#include "base/status.h"
#include "speculation/controller.h"
#include "speculation/drafters/drafters.h"
#include "speculation/drafters/source_drafter.h"
#include "speculation/options.h"

namespace skipstone::speculation {
namespace {

struct ExitParams {
  std::uint32_t exit_layer = 0;  ///< layers that a draft runs; 0: the exit that the model says it was trained for
  /// The paper drafts a fixed number. A threshold above 0 ends a round where the exit is unsure, as in Draft & Verify.
  SkipLayerDrafterParams drafts{.max_drafts = 6, .stop = {.gamma = 0.0, .adaptive = false}};
};

class Exit final : public SkipLayerDrafter {
 public:
  explicit Exit(const ExitParams& params) : SkipLayerDrafter(params.drafts), exit_layer_(params.exit_layer) {}

  std::string name() const override { return "exit"; }

  void attach(const ModelFacts& model) override {
    const std::uint32_t last = model.layers - 1;
    const std::uint32_t layer = exit_layer_ == 0 ? model.exit_layer : exit_layer_;
    if (last == 0) fail(Code::invalid_argument, "drafter exit: a model of one layer has no early exit");
    if (layer == 0) {
      fail(Code::invalid_argument,
           "drafter exit: this model does not say which layer it was trained to exit at; write exit:E with E from 1 to {}", last);
    }
    if (layer > last) {
      fail(Code::invalid_argument, "drafter exit: layer {} is no early exit of this model, which has {} layers; E goes from 1 to {}", layer,
           model.layers, last);
    }
    exec::LayerPlan plan = exec::LayerPlan::full(model.layers);
    plan.end = layer;
    set_plan(plan, model.layers);
  }

 private:
  std::uint32_t exit_layer_;
};

std::uint32_t parse_layer(const std::string& text) {
  const auto layer = parse_number<std::uint32_t>(text);
  if (!layer || *layer == 0) {
    fail(Code::invalid_argument, "drafter exit: '{}' is not a number of layers; write exit:E, as in exit:6", text);
  }
  return *layer;
}

/// Exits at several depths under one controller: E and the number of drafts of each round follow from what each exit has had accepted and
/// what it costs (DEL's idea: Entezari Zarch et al., "DEL: Context-Aware Dynamic Exit Layer for Efficient Self-Speculative Decoding",
/// 2025).
class ExitAuto final : public Controller {
 public:
  explicit ExitAuto(const ExitParams& params) : Controller("exit", {}, false), params_(params) {}

  void attach(const ModelFacts& model) override {
    std::set<std::uint32_t> exits{model.exit_layer};
    for (const std::uint32_t eighth : {1u, 2u, 3u, 4u, 5u, 6u}) exits.insert(model.layers * eighth / 8);
    for (const std::uint32_t layer : exits) {
      if (layer == 0 || layer >= model.layers) continue;
      ExitParams one = params_;
      one.exit_layer = layer;
      members().push_back(std::make_unique<Exit>(one));
    }
    Controller::attach(model);
  }

 private:
  ExitParams params_;
};

}  // namespace

std::unique_ptr<Drafter> make_exit(Options& options) {
  ExitParams params;
  const std::string layer = options.value("E");
  if (!layer.empty() && layer != "auto") params.exit_layer = parse_layer(layer);
  params.drafts.max_drafts = options.whole("k", params.drafts.max_drafts, 1, 256);
  read_stop_options(options, params.drafts.stop);
  params.drafts.keep_prefix = options.flag("reuse", params.drafts.keep_prefix);
  if (layer == "auto") return std::make_unique<ExitAuto>(params);
  return std::make_unique<Exit>(params);
}

}  // namespace skipstone::speculation
