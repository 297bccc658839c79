// Where a grammar leaves one continuation, it is the draft. Nothing is put into the text: verification accepts it, or another segmentation
// of the same bytes into tokens.
#include <algorithm>
#include <utility>

#include "base/status.h"
#include "speculation/drafters/drafters.h"

namespace skipstone::speculation {
namespace {

class GrammarDrafter final : public Drafter {
 public:
  explicit GrammarDrafter(std::uint32_t drafts) : drafts_(drafts) {}

  std::string name() const override { return "grammar"; }
  void attach(const ModelFacts& model) override {
    if (!model.forced) {
      fail(Code::invalid_argument,
           "drafter grammar: the text has no grammar; one is given as a JSON Schema, in GBNF or as a regular expression");
    }
    forced_ = model.forced;
  }
  Proposal propose(std::span<const Token> history) override {
    const std::vector<Token> tokens = forced_(history, drafts_);
    if (tokens.empty()) return NoDrafts{};
    return TreeProposal{TokenTree::chain(history.back(), tokens), most_strength};
  }

 private:
  std::uint32_t drafts_;
  std::function<std::vector<Token>(std::span<const Token> text, std::size_t most)> forced_;
};

}  // namespace

std::unique_ptr<Drafter> make_grammar(Options& options) { return std::make_unique<GrammarDrafter>(options.whole("k", 16, 1, most_drafts)); }

}  // namespace skipstone::speculation
