// Acceptance by given probabilities instead of by the model: how the runtime performs with a drafter of that accuracy. For benchmarks.
#pragma once

#include <span>
#include <vector>

#include "speculation/sequence.h"

namespace skipstone::speculation {

/// Throws invalid_argument unless these are 1 to most_drafts probabilities.
void check_synthetic_acceptance(std::span<const double> probabilities);

/// All passes are `sequence`'s and run as ever; what a verification says of the drafts is replaced. The i-th draft of a round is accepted
/// with probabilities[i], given that those before it were (the last one holds for all further drafts); of a tree these are the first
/// child of row 0, the first child of that, and so on, and of a block its first row. Where the draw rejects, the model's token is kept,
/// or the next one that is no draft. A draw is a function of the place in the text, the pending token and the draft's depth, so the same
/// generation comes out the same each time. The text says nothing. Not for verification by rejection, nor for lossy rounds.
class SyntheticAcceptance final : public Sequence, private RoundRunner, private BlockVerifier {
 public:
  SyntheticAcceptance(Sequence& sequence, std::vector<double> probabilities, std::uint32_t vocabulary);

  SequenceLimits limits() const override { return sequence_.limits(); }
  std::uint32_t committed() const override { return sequence_.committed(); }
  SequenceTimes times() const override { return sequence_.times(); }
  std::uint32_t concurrent_rows() const override { return sequence_.concurrent_rows(); }
  Prefilled prefill(std::span<const Token> tokens, bool attention_cosine) override { return sequence_.prefill(tokens, attention_cosine); }
  Choice draft(const DraftSource& source, Token input, std::uint32_t offset) override { return sequence_.draft(source, input, offset); }
  void verify(const TokenTree& rows, std::uint32_t top, Verified& out) override;
  void commit(std::span<const std::uint32_t> path) override { sequence_.commit(path); }
  void rollback(std::uint32_t tokens) override { sequence_.rollback(tokens); }
  SequenceExtensions extensions() override;

 private:
  bool round(const RoundRequest& request, DraftedRound& out) override;
  void verify_block(std::span<const std::vector<Token>> rows, std::span<std::vector<Choice>> out) override;
  void commit_row(std::span<const std::vector<Token>> rows, std::uint32_t row, std::uint32_t tokens) override;

  /// The sequence's way to verify blocks, or row by row.
  BlockVerifier& blocks() {
    BlockVerifier* const own = sequence_.extensions().blocks;
    return own == nullptr ? row_by_row_ : *own;
  }
  bool accepts(Token pending, std::uint32_t depth) const;
  /// The model's choice after row `row` becomes none of its children.
  void reject(const TokenTree& rows, std::uint32_t row, std::span<Choice> verified) const;
  void decide(const TokenTree& rows, std::span<Choice> verified) const;

  Sequence& sequence_;
  RowByRowVerifier row_by_row_;
  std::vector<double> probabilities_;
  std::uint32_t vocabulary_;
};

}  // namespace skipstone::speculation
