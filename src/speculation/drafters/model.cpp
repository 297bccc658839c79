// Two-model speculation: a second, smaller model of the same vocabulary drafts.
// Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", ICML 2023 (arXiv 2211.17192).
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "speculation/drafters/drafters.h"
#include "speculation/options.h"

namespace skipstone::speculation {
namespace {

struct ModelDrafterParams {
  std::string file;
  std::uint32_t max_drafts = 12;
  StopParams stop;
};

class Model final : public SourceDrafter {
 public:
  explicit Model(const ModelDrafterParams& params) : SourceDrafter(params.max_drafts, params.stop), file_(params.file) {}

  std::string name() const override { return "model"; }
  DrafterTraits traits() const override { return {.known_costs = false}; }

  void attach(const ModelFacts& model) override {
    if (file_.empty()) fail(Code::invalid_argument, "drafter model: which one? write model:FILE.gguf");
    if (!model.load_model) fail(Code::unsupported, "drafter model: no second model can be loaded here");
    set_source(std::make_shared<SecondModel>(model.load_model(file_)));
  }

 private:
  std::string file_;
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
