// What follows a row of a pass: the device's argmax, the sampler's token or, where drafts are accepted by rejection, a draw.
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
#include "spec/sequence.h"

namespace skipstone::engine {

spec::Choice choice_of(const abi::RowResult& result);

/// Knows the tokens before every row, which penalties look back on. A row's token has to be put at its position, and its ancestors' at
/// theirs, before it is chosen for.
class RowChooser {
 public:
  /// A draft and what it was drawn from.
  struct Drawn {
    std::vector<double> distribution;
    spec::Token token = -1;
  };

  /// `candidates`: passes may leave candidates of rows over so large a vocabulary, where those decide; 0: whole rows.
  RowChooser(const sample::SamplerParams& sampling, sample::Verification verification, std::uint32_t candidates);

  bool needs_logits() const { return sampler_.params().needs_logits(); }
  /// Whether drafts are drawn, and accepted by rejection.
  bool rejects() const { return rejection_.has_value() && sampler_.params().temperature > 0.0f; }
  /// Of a pass whose rows nobody asks for beforehand.
  exec::Output output() const { return needs_logits() ? exec::Output::logits : exec::Output::argmax; }

  /// The text is `text`, and no row stands behind it.
  void start(std::span<const spec::Token> text) { text_.assign(text.begin(), text.end()); }
  void put(std::size_t position, spec::Token token);
  void put(const spec::TokenTree& rows, std::uint32_t row, std::size_t base);  ///< the row and its ancestors; row 0 stands at `base`
  std::span<const spec::Token> text(std::size_t end) const { return std::span(text_).first(end); }

  /// The rows of the next pass, in order, once the tokens before them are put: begin_rows(), then add_row() for each. What they have to leave is
  /// asked for in `spec` and `rows`.
  void begin_rows() { candidates_.begin(); }
  void add_row(std::size_t position) { candidates_.add(text(position + 1), position + 1); }
  void ask(exec::PassSpec& spec, exec::Rows& rows) const;

  /// Before a round's first draft or, without drafts, its verification.
  void next_round();
  /// The same conversation from its beginning has the same draws.
  void restart();

  /// The choice after row `row` of the last pass of `passes`, whose token stands at `position`.
  spec::Choice choose(exec::Executor& passes, std::uint32_t row, std::size_t position);
  /// The same by the sampler alone, of a pass with logits; it is greedy where the sampler is.
  spec::Choice choose_by_logits(std::span<const float> logits, std::size_t position);
  /// The draft that the last pass of `passes`, one row at `position`, has made; no token where it gave no number.
  spec::Choice draft(exec::Executor& passes, std::uint32_t offset, std::size_t position);
  /// As choose(), of a verification or a prompt. `drawn`: the draft behind the row, where a pass has drawn it.
  spec::Choice verified(exec::Executor& passes, std::uint32_t row, std::size_t position, const Drawn* drawn = nullptr);
  /// The draft behind `row`, where a pass of this round has drawn it; null where it came from elsewhere or there is none.
  const Drawn* drawn_behind(const spec::TokenTree& rows, std::uint32_t row) const;

 private:
  /// verified() without log-probabilities.
  spec::Choice accepted(exec::Executor& passes, std::uint32_t row, std::size_t position, const Drawn* drawn);
  sample::Sampler sampler_;
  std::optional<sample::RejectionSampler> rejection_;
  CandidateRows candidates_;
  std::vector<Drawn> drawn_;       ///< the round's drafts, by offset
  std::vector<spec::Token> text_;  ///< what is committed and the rows of the round so far
};

/// A pass with sublayers left out may overflow where the full model does not: no token where `choose` throws internal.
template <typename Choose>
spec::Choice number_or_none(const Choose& choose) {
  try {
    return choose();
  } catch (const Error& error) {
    if (error.code() != Code::internal) throw;
    return {};
  }
}

/// Of a greedy row whose logits were read back for its likeliest tokens `top`; without a probability, which nobody asks a verification for.
spec::Choice choose_of_top(std::span<const float> logits, std::span<const spec::Token> top);

}  // namespace skipstone::engine
