// The token after a row of a pass: the device's argmax, the sampler's token or, if drafts are accepted by rejection, a draw.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/candidate_rows.h"
#include "exec/executor.h"
#include "sample/rejection.h"
#include "sample/sampler.h"
#include "speculation/sequence.h"

namespace skipstone::engine {

speculation::Choice choice_of(const abi::RowResult& result);

/// Knows the tokens before every row, which penalties use. The tokens of a row and its ancestors must be set at their positions before the
/// choice after the row.
class RowChooser {
 public:
  /// A draft and the distribution that it was drawn from.
  struct Drawn {
    std::vector<double> distribution;
    speculation::Token token = -1;
  };

  /// `candidates`: vocabulary size of rows whose candidates passes may return instead of logits, if those decide; 0: full rows.
  RowChooser(const sample::SamplerParams& sampling, sample::Verification verification, std::uint32_t candidates);

  bool needs_logits() const { return sampler_.params().needs_logits(); }
  /// Whether drafts are drawn and accepted by rejection.
  bool rejects() const { return rejection_.has_value() && sampler_.params().temperature > 0.0f; }
  /// The output of a pass whose rows are not requested by add_row().
  exec::Output output() const { return needs_logits() ? exec::Output::logits : exec::Output::argmax; }

  /// Sets the text to `text`, with no rows after it.
  void start(std::span<const speculation::Token> text) { text_.assign(text.begin(), text.end()); }
  void set_token(std::size_t position, speculation::Token token);
  void set_token(const speculation::TokenTree& rows, std::uint32_t row,
                 std::size_t base);  ///< the row and its ancestors; row 0 is at `base`
  std::span<const speculation::Token> text(std::size_t end) const { return std::span(text_).first(end); }

  /// Requests for the rows of the next pass, in order, once the tokens before them are set: begin_rows(), then add_row() for each; the
  /// requests are then written to `spec` and `rows`.
  void begin_rows() { candidates_.begin(); }
  void add_row(std::size_t position) { candidates_.add(text(position + 1), position + 1); }
  void request(exec::PassSpec& spec, exec::Rows& rows) const;

  /// Call before a round's first draft or, without drafts, its verification.
  void next_round();
  /// The same conversation from its first token on has the same draws again.
  void restart();

  /// The choice after row `row` of the last pass of `passes`, whose token is at `position`.
  speculation::Choice choose(exec::Executor& passes, std::uint32_t row, std::size_t position);
  /// The same by the sampler alone, from a pass with logits; it is greedy if the sampler is.
  speculation::Choice choose_by_logits(std::span<const float> logits, std::size_t position);
  /// The draft that the last pass of `passes`, one row at `position`, has made; no token if its logits are not numbers.
  speculation::Choice draft(exec::Executor& passes, std::uint32_t offset, std::size_t position);
  /// As choose(), for a verification or a prompt. `drawn`: the draft after the row, if a pass has drawn it.
  speculation::Choice verified(exec::Executor& passes, std::uint32_t row, std::size_t position, const Drawn* drawn = nullptr);
  /// The draft after `row`, if a pass of this round has drawn it; null if it has another source or there is none.
  const Drawn* drawn_after(const speculation::TokenTree& rows, std::uint32_t row) const;

 private:
  /// verified() without log-probabilities.
  speculation::Choice accepted(exec::Executor& passes, std::uint32_t row, std::size_t position, const Drawn* drawn);
  sample::Sampler sampler_;
  std::optional<sample::RejectionSampler> rejection_;
  CandidateRows candidates_;
  std::vector<Drawn> drawn_;       ///< the round's drafts, by offset
  std::vector<speculation::Token> text_;  ///< committed tokens and the rows of the round so far
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
