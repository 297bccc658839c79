// From a pass's results to the tokens after its rows: the device's argmax, the sampler's token or, if drafts are accepted by rejection, a
// draw.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/candidate_rows.h"
#include "exec/plan.h"
#include "kernels/abi.h"
#include "sample/rejection.h"
#include "sample/sampler.h"
#include "speculation/sequence.h"
#include "speculation/token_history.h"

namespace skipstone::engine {

/// A draft and the distribution that it was drawn from.
struct DrawnDraft {
  std::vector<double> distribution;
  speculation::Token token = -1;
};

/// Rows after the committed text whose next tokens are to be chosen, and what a pass over them is asked for. The rows' tokens stay where
/// they are, with the caller.
struct Batch {
  std::span<const speculation::Token> rows;
  /// The row that each row follows, or the row itself if it follows the text; empty: row i follows row i - 1.
  std::span<const std::uint32_t> parents = {};
  std::uint32_t computed = 0;  ///< leading rows that earlier passes have run; the pass's first row is the one after them
  CandidateRequests requests = {};

  void set(std::span<const speculation::Token> tokens, std::span<const std::uint32_t> row_parents, std::uint32_t computed_rows = 0) {
    rows = tokens;
    parents = row_parents;
    computed = computed_rows;
    requests.clear();
  }
};

/// The results of a pass, by row of the pass.
class RowResults {
 public:
  virtual ~RowResults() = default;
  virtual const abi::RowResult& result(std::uint32_t row) = 0;
  /// Null if the pass has none.
  virtual const abi::CandidateResult* candidates(std::uint32_t row) = 0;
  virtual std::span<const float> logits(std::uint32_t row) = 0;
};

speculation::Choice choice_of(const abi::RowResult& result);

/// Choices depend on the text, the batch and the results alone. What it remembers of earlier rows decides only whether passes return
/// candidates or logits.
class Verifier {
 public:
  /// `candidates`: vocabulary size of rows whose candidates passes may return instead of logits, if those decide; 0: full rows.
  Verifier(const sample::SamplerParams& sampling, sample::Verification verification, std::uint32_t candidates);

  bool needs_logits() const { return sampler_.params().needs_logits(); }
  /// Whether drafts are drawn and accepted by rejection.
  bool rejects() const { return rejection_.has_value() && sampler_.params().temperature > 0.0f; }
  /// The output of a pass without requests.
  exec::Output output() const { return needs_logits() ? exec::Output::logits : exec::Output::argmax; }

  /// Fills in the requests of `batch`, whose other members are set.
  void request(speculation::TokenHistory& text, Batch& batch);
  exec::Output output(const Batch& batch) const { return batch.requests.rows().empty() ? output() : exec::Output::candidates; }

  /// The choice after row `row` of `batch`.
  speculation::Choice choose(speculation::TokenHistory& text, const Batch& batch, std::uint32_t row, RowResults& results);
  /// The same by the sampler alone, from the logits after the committed text and `path`; it is greedy if the sampler is.
  speculation::Choice choose_by_logits(speculation::TokenHistory& text, std::span<const speculation::Token> path,
                                       std::span<const float> logits);
  speculation::Choice choose_by_logits(speculation::TokenHistory& text, const Batch& batch, std::uint32_t row,
                                       std::span<const float> logits);
  /// The draft after the last row of `batch`, a chain; no token if its logits are not numbers.
  speculation::Choice draft(speculation::TokenHistory& text, const Batch& batch, RowResults& results);
  /// As choose(), for a verification or a prompt: with log-probabilities, and a draft of this round that was drawn is accepted by
  /// rejection.
  speculation::Choice verify(speculation::TokenHistory& text, const Batch& batch, std::uint32_t row, RowResults& results);
  /// The same after the committed text, whose last token is row `row` of the results.
  speculation::Choice verify_end(speculation::TokenHistory& text, std::uint32_t row, RowResults& results);

  /// The round's draws are forgotten; the next round has its own.
  void next_round();
  /// The same conversation from its first token on has the same draws again.
  void restart();

 private:
  using History = std::span<const speculation::Token>;
  template <typename Use>
  auto with_row(speculation::TokenHistory& text, const Batch& batch, std::uint32_t row, const Use& use);
  const DrawnDraft* drawn_after(const Batch& batch, std::uint32_t row) const;
  /// A row of a pass.
  struct Row {
    RowResults& results;
    std::uint32_t number = 0;
  };
  /// `request`: null if the row has none.
  speculation::Choice chosen(History history, const abi::CandidateRequest* request, const Row& row);
  speculation::Choice verified(History history, const abi::CandidateRequest* request, const DrawnDraft* drawn, const Row& row);
  /// verified() without log-probabilities.
  speculation::Choice accepted(History history, const abi::CandidateRequest* request, const DrawnDraft* drawn, const Row& row);

  sample::Sampler sampler_;
  std::optional<sample::RejectionSampler> rejection_;
  CandidateRows candidates_;
  std::vector<DrawnDraft> drawn_;         ///< the round's drafts, by offset
  std::vector<speculation::Token> path_;  ///< memory of with_row()
};

/// A pass with sublayers left out may overflow where the full model does not: no token if `choose` throws internal.
template <typename Choose>
speculation::Choice number_or_none(const Choose& choose) {
  try {
    return choose();
  } catch (const Error& error) {
    if (error.code() != Code::internal) throw;
    return {};
  }
}

/// The choice of a greedy row whose logits were read back for its likeliest tokens `top`; without a probability, which a verification does
/// not need.
speculation::Choice choose_of_top(std::span<const float> logits, std::span<const speculation::Token> top);

}  // namespace skipstone::engine
