// What makes a round's drafts, one by one. A new source is a class here, its runner in the engine, and the runner's place in the table of
// engine/draft_runners.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "exec/layer_plan.h"
#include "speculation/round_costs.h"

namespace skipstone::speculation {

/// A value that a drafter proposes; the sequence has a runner for each kind.
class DraftSource {
 public:
  virtual ~DraftSource() = default;
  /// Of the kind: names its runner, and whose costs its drafts have.
  virtual std::string_view key() const = 0;
  /// A round's costs with this source; nothing if they are not measured.
  virtual std::optional<SetCosts> costs(const RoundCosts& /*costs*/, std::uint32_t /*model_layers*/) const { return std::nullopt; }

 protected:
  DraftSource() = default;
  DraftSource(const DraftSource&) = default;
  DraftSource& operator=(const DraftSource&) = default;
};

using SharedSource = std::shared_ptr<const DraftSource>;

/// A part of the model's own layers.
class LayerPass final : public DraftSource {
 public:
  static constexpr std::string_view name = "layers";
  explicit LayerPass(const exec::LayerPlan& layers, bool saves = true, double share = 1)
      : plan(layers), keep_prefix(saves), mlp_share(share) {}

  std::string_view key() const override { return name; }
  std::optional<SetCosts> costs(const RoundCosts& costs, std::uint32_t model_layers) const override {
    SetCosts of_round(costs, plan, model_layers, keep_prefix);
    const double mlp = costs.at(1).mlp;
    for (std::uint32_t layer = plan.begin; layer < plan.end; ++layer) of_round.draft -= plan.runs_mlp(layer) ? (1 - mlp_share) * mlp : 0;
    return of_round;
  }

  exec::LayerPlan plan;
  /// The residual stream after the plan's leading unskipped layers is saved, and verify() continues from there for the rows it is saved
  /// for; it changes no result.
  bool keep_prefix;
  /// Of the time of a feed-forward network that a draft takes: with fewer experts about their share.
  double mlp_share;
};

/// The full model with attention within a window.
class WindowPass final : public DraftSource {
 public:
  static constexpr std::string_view name = "window";
  explicit WindowPass(const exec::KeyWindow& keys) : window(keys) {}
  std::string_view key() const override { return name; }

  exec::KeyWindow window;
};

/// The model's head for multi-token prediction.
class PredictionHead final : public DraftSource {
 public:
  static constexpr std::string_view name = "head";
  std::string_view key() const override { return name; }
  /// A head is a layer beside embedding and output: its first matrix is within what the controller corrects by measured rounds.
  std::optional<SetCosts> costs(const RoundCosts& costs, std::uint32_t model_layers) const override {
    SetCosts of_round(costs, exec::LayerPlan::full(model_layers), model_layers, false);
    const PassCost& pass = costs.at(1);
    of_round.draft = pass.rest + pass.attention + pass.mlp;
    return of_round;
  }
};

/// A second model, which reads first what it has not read of the text.
class SecondModel final : public DraftSource {
 public:
  static constexpr std::string_view name = "model";
  explicit SecondModel(std::uint32_t model) : number(model) {}
  std::string_view key() const override { return name; }

  std::uint32_t number;  ///< from ModelFacts::load_model
};

/// `source` if it is of this kind, else null.
template <typename Source>
const Source* as(const DraftSource& source) {
  return source.key() == Source::name ? static_cast<const Source*>(&source) : nullptr;
}

}  // namespace skipstone::speculation
