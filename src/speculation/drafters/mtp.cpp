// The model's own head for multi-token prediction drafts: one layer, over the next token and the hidden state of the last one.
// DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024 (arXiv 2412.19437, sections 2.2 and 5.4.3); Gloeckle et al., "Better & Faster Large
// Language Models via Multi-token Prediction", ICML 2024 (arXiv 2404.19737). More than one draft: the head follows itself, as in
// EAGLE (Li et al., ICML 2024, arXiv 2401.15077).
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "speculation/drafters/drafters.h"
#include "speculation/options.h"

namespace skipstone::speculation {
namespace {

struct MtpParams {
  std::uint32_t max_drafts = 3;
  StopParams stop{.gamma = 0.0, .adaptive = false};
};

class Mtp final : public SourceDrafter {
 public:
  explicit Mtp(const MtpParams& params) : SourceDrafter(params.max_drafts, params.stop, std::make_shared<PredictionHead>()) {}

  std::string name() const override { return "mtp"; }

  void attach(const ModelFacts& model) override {
    if (model.heads > 0) return;
    fail(Code::invalid_argument,
         "drafter mtp: the model has no head for multi-token prediction (a file with one is given with --mtp-file), or its layers are on "
         "several devices");
  }
};

}  // namespace

std::unique_ptr<Drafter> make_mtp(Options& options) {
  MtpParams params;
  params.max_drafts = options.whole("k", params.max_drafts, 1, 256);
  read_stop_options(options, params.stop);
  return std::make_unique<Mtp>(params);
}

}  // namespace skipstone::speculation
