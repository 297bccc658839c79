#include "spec/drafters/exit.h"

#include <charconv>
#include <string>

#include "base/status.h"

namespace skipstone::spec {
namespace {

class Exit final : public Drafter {
 public:
  explicit Exit(const ExitParams& params) : params_(params), policy_(params.stop) {}

  std::string name() const override { return "exit"; }

  void attach(const ModelFacts& model) override {
    const std::uint32_t last = model.layers - 1;
    const std::uint32_t layer = params_.exit_layer == 0 ? model.exit_layer : params_.exit_layer;
    if (last == 0) fail(Code::invalid_argument, "drafter exit: a model of one layer has no early exit");
    if (layer == 0) {
      fail(Code::invalid_argument,
           "drafter exit: this model does not say which layer it was trained to exit at; write exit:E with E from 1 to {}", last);
    }
    if (layer > last) {
      fail(Code::invalid_argument, "drafter exit: layer {} is no early exit of this model, which has {} layers; E goes from 1 to {}", layer,
           model.layers, last);
    }
    plan_ = exec::LayerPlan::full(model.layers);
    plan_.end = layer;
    skipped_ = plan_.skipped_sublayers(model.layers);
    plan_text_ = plan_.print(model.layers);
  }

  void begin(const Prefilled&, std::uint32_t) override { policy_.begin(); }

  Proposal propose(std::span<const Token>) override { return {{}, plan_, params_.max_drafts, params_.keep_prefix}; }

  bool continue_drafting(const Choice& draft, std::uint32_t drafted) override {
    return drafted < params_.max_drafts && policy_.keeps_drafting(static_cast<double>(draft.probability));
  }

  void observe(const RoundResult& result) override { policy_.update(result.drafted, result.accepted, result.drafted >= result.limit); }

  std::string plan_text() const override { return plan_text_; }
  std::uint32_t skipped_sublayers() const override { return skipped_; }

 private:
  ExitParams params_;
  StopPolicy policy_;
  exec::LayerPlan plan_;
  std::uint32_t skipped_ = 0;
  std::string plan_text_;
};

std::uint32_t parse_layer(const std::string& text) {
  std::uint32_t layer = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, layer);
  if (error != std::errc() || stop != end || layer == 0) {
    fail(Code::invalid_argument, "drafter exit: '{}' is not a number of layers; write exit:E, as in exit:6", text);
  }
  return layer;
}

}  // namespace

std::unique_ptr<Drafter> make_exit(Options& options) {
  ExitParams params;
  if (const std::string layer = options.value("E"); !layer.empty()) params.exit_layer = parse_layer(layer);
  params.max_drafts = options.whole("k", params.max_drafts, 1, 256);
  read_stop_options(options, params.stop);
  params.keep_prefix = options.flag("reuse", params.keep_prefix);
  return std::make_unique<Exit>(params);
}

}  // namespace skipstone::spec
