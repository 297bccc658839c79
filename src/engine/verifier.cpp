#include "engine/verifier.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "sample/candidates.h"

namespace skipstone::engine {

using speculation::Choice;
using speculation::Token;
using speculation::TokenHistory;

namespace {

/// Null if the row has none.
const abi::CandidateRequest* request_of(const Batch& batch, std::uint32_t row) {
  const auto requests = batch.requests.rows();
  return requests.empty() ? nullptr : &requests[row - batch.computed];
}

}  // namespace

Choice choice_of(const abi::RowResult& result) { return {static_cast<Token>(result.token), result.probability, result.margin}; }

Verifier::Verifier(const sample::SamplerParams& sampling, sample::Verification verification, std::uint32_t candidates)
    : sampler_(sampling),
      candidates_(sampling, candidates,
                  candidates > 0 && (verification != sample::Verification::rejection || sampling.temperature == 0.0f)) {
  if (verification == sample::Verification::rejection) rejection_.emplace(sampling.seed);
}

/// Calls `use` with the text up to row `row`: the committed tokens, the row's ancestors and the row.
template <typename Use>
auto Verifier::with_row(TokenHistory& text, const Batch& batch, std::uint32_t row, const Use& use) {
  if (batch.parents.empty()) return text.with_path(batch.rows.first(row + 1), use);
  path_.clear();
  for (;; row = batch.parents[row]) {
    path_.push_back(batch.rows[row]);
    if (batch.parents[row] == row) break;
  }
  std::ranges::reverse(path_);
  return text.with_path(path_, use);
}

void Verifier::request(TokenHistory& text, Batch& batch) {
  batch.requests.clear();
  if (!needs_logits()) return;
  for (auto row = batch.computed; row < batch.rows.size(); ++row) {
    with_row(text, batch, row, [&](History history) { candidates_.add(batch.requests, history, history.size()); });
  }
}

void Verifier::next_round() {
  drawn_.clear();
  if (rejection_) rejection_->next_round();
}

void Verifier::restart() {
  drawn_.clear();
  if (rejection_) rejection_.emplace(sampler_.params().seed);
}

Choice Verifier::choose_by_logits(TokenHistory& text, std::span<const Token> path, std::span<const float> logits) {
  return text.with_path(path, [&](History history) { return sampler_.choose(logits, history, history.size()); });
}

Choice Verifier::choose_by_logits(TokenHistory& text, const Batch& batch, std::uint32_t row, std::span<const float> logits) {
  return with_row(text, batch, row, [&](History history) { return sampler_.choose(logits, history, history.size()); });
}

Choice Verifier::chosen(History history, const abi::CandidateRequest* request, const Row& row) {
  if (!needs_logits()) return choice_of(row.results.result(row.number));
  if (const abi::CandidateResult* const result = row.results.candidates(row.number); result != nullptr && request != nullptr) {
    if (const auto choice = candidates_.choose(sampler_, *request, *result, history, history.size())) return *choice;
  }
  return sampler_.choose(row.results.logits(row.number), history, history.size());
}

Choice Verifier::choose(TokenHistory& text, const Batch& batch, std::uint32_t row, RowResults& results) {
  if (!needs_logits()) return choice_of(results.result(row - batch.computed));
  return with_row(text, batch, row, [&](History history) {
    return chosen(history, request_of(batch, row), {results, row - batch.computed});
  });
}

Choice Verifier::draft(TokenHistory& text, const Batch& batch, RowResults& results) {
  return number_or_none([&] {
    const auto row = static_cast<std::uint32_t>(batch.rows.size()) - 1;
    if (!rejects()) return choose(text, batch, row, results);
    return with_row(text, batch, row, [&](History history) {
      const std::span<const float> logits = results.logits(row - batch.computed);
      drawn_.resize(row);  // a new draft replaces the ones after it
      DrawnDraft& drawn = drawn_.emplace_back();
      drawn.distribution = sampler_.distribution(logits, history);
      drawn.token = rejection_->draft(drawn.distribution, history.size());
      return sample::Sampler::describe(logits, drawn.token);
    });
  });
}

/// The draft after `row`, if a pass of this round has drawn it; null if it has another source or there is none.
const DrawnDraft* Verifier::drawn_after(const Batch& batch, std::uint32_t row) const {
  if (!batch.parents.empty() || row + 1 >= batch.rows.size() || row >= drawn_.size()) return nullptr;
  return batch.rows[row + 1] == drawn_[row].token ? &drawn_[row] : nullptr;
}

Choice Verifier::verify(TokenHistory& text, const Batch& batch, std::uint32_t row, RowResults& results) {
  if (!needs_logits()) return choice_of(results.result(row - batch.computed));
  return with_row(text, batch, row, [&](History history) {
    return verified(history, request_of(batch, row), drawn_after(batch, row), {results, row - batch.computed});
  });
}

Choice Verifier::verify_end(TokenHistory& text, std::uint32_t row, RowResults& results) {
  return verified(text.committed(), nullptr, nullptr, {results, row});
}

Choice Verifier::verified(History history, const abi::CandidateRequest* request, const DrawnDraft* drawn, const Row& row) {
  Choice choice = accepted(history, request, drawn, row);
  const int top = sampler_.params().top_logprobs;
  if (top >= 0 && choice.token >= 0) {
    choice.logprobs = std::make_shared<const sample::Logprobs>(
        sample::Sampler::logprobs(row.results.logits(row.number), choice.token, static_cast<std::size_t>(top)));
  }
  return choice;
}

Choice Verifier::accepted(History history, const abi::CandidateRequest* request, const DrawnDraft* drawn, const Row& row) {
  if (!rejects()) return chosen(history, request, row);
  const std::span<const float> logits = row.results.logits(row.number);
  const std::vector<double> p = sampler_.distribution(logits, history);
  const Token token = drawn != nullptr ? rejection_->verify(p, drawn->distribution, drawn->token, history.size())
                                       : rejection_->verify(p, {}, -1, history.size());
  return sample::Sampler::describe(logits, token);
}

Choice choose_of_top(std::span<const float> logits, std::span<const Token> top) {
  std::array<Token, 2> best;
  if (top.size() >= best.size()) {
    std::copy_n(top.begin(), best.size(), best.begin());
  } else {
    sample::top_k(logits, best);
  }
  if (best[0] < 0) return {};
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto logit = [&](Token token) { return logits[static_cast<std::size_t>(token)]; };
  if (best[1] < 0) return {best[0], 0.0f, infinity};
  return {best[0], 0.0f, logit(best[0]) == logit(best[1]) ? 0.0f : logit(best[0]) - logit(best[1])};
}

}  // namespace skipstone::engine
