// Jacobi decoding: all of the next tokens are guessed at once, and every pass replaces each guess by the model's choice after the guesses
// before it. The fixed point is the text of plain decoding.
// Santilli et al., "Accelerating Transformer Inference for Translation via Parallel Decoding", ACL 2023 (arXiv 2305.10427).
#include "speculation/drafters/drafters.h"

namespace skipstone::speculation {
namespace {

/// The row's first child, or nothing.
std::optional<std::uint32_t> first_child(const TokenTree& tree, std::uint32_t row) {
  for (std::uint32_t i = row + 1; i < tree.rows(); ++i) {
    if (tree.parents()[i] == row) return i;
  }
  return std::nullopt;
}

class Jacobi final : public Drafter {
 public:
  explicit Jacobi(std::uint32_t drafts) : drafts_(drafts) {}

  std::string name() const override { return "jacobi"; }
  void begin(const Prefilled&, std::uint32_t) override { guesses_.clear(); }

  Proposal propose(std::span<const Token> history) override {
    // Any guess will do for a missing one; the last token again is right in a loop.
    guesses_.resize(drafts_, guesses_.empty() ? history.back() : guesses_.back());
    return TreeProposal{TokenTree::chain(history.back(), guesses_)};
  }

  void observe(const RoundResult& result) override { guesses_ = jacobi_guesses(result); }
  void watch(const RoundResult& result) override { guesses_ = jacobi_guesses(result); }

 private:
  std::uint32_t drafts_;
  std::vector<Token> guesses_;
};

}  // namespace

std::vector<Token> jacobi_guesses(const RoundResult& result) {
  std::vector<Token> guesses;
  if (result.path.empty()) return guesses;
  for (auto row = first_child(result.tree, result.path.back()); row; row = first_child(result.tree, *row)) {
    const Token token = result.verified[*row].token;
    if (token < 0) break;
    guesses.push_back(token);
  }
  return guesses;
}

std::unique_ptr<Drafter> make_jacobi(Options& options) { return std::make_unique<Jacobi>(options.whole("k", 4, 1, most_drafts)); }

}  // namespace skipstone::speculation
