// Two-model speculation: a second, smaller model of the same vocabulary drafts.
// Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", ICML 2023 (arXiv 2211.17192).
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "speculation/acceptance.h"
#include "speculation/drafter.h"
#include "speculation/drafters/drafters.h"
#include "speculation/options.h"

namespace skipstone::speculation {
namespace {

struct ModelDrafterParams {
  std::string file;
  std::uint32_t max_drafts = 12;
  StopParams stop;
};

class Model final : public Drafter {
 public:
  explicit Model(const ModelDrafterParams& params) : params_(params), policy_(params.stop) {}

  std::string name() const override { return "model"; }
  DrafterTraits traits() const override { return {.known_costs = false}; }

  void attach(const ModelFacts& model) override {
    if (params_.file.empty()) fail(Code::invalid_argument, "drafter model: which one? write model:FILE.gguf");
    if (!model.load_model) fail(Code::unsupported, "drafter model: no second model can be loaded here");
    source_ = std::make_shared<SecondModel>(model.load_model(params_.file));
  }

  void begin(const Prefilled&, std::uint32_t) override { policy_.begin(); }

  Proposal propose(std::span<const Token>) override { return PassProposal{source_, params_.max_drafts, policy_.threshold()}; }

  void observe(const RoundResult& result) override { policy_.update(result.drafted, result.accepted, result.drafted >= result.limit); }

 private:
  ModelDrafterParams params_;
  StopPolicy policy_;
  SharedSource source_;
};

}  // namespace

std::unique_ptr<Drafter> make_model(Options& options) {
  ModelDrafterParams params;
  params.file = options.value("FILE.gguf");
  params.max_drafts = options.whole("k", params.max_drafts, 1, 256);
  read_stop_options(options, params.stop);
  return std::make_unique<Model>(params);
}

}  // namespace skipstone::speculation
