#include "engine/row_chooser.h"

#include <algorithm>
#include <array>
#include <limits>

#include "sample/top_k.h"

namespace skipstone::engine {

using speculation::Choice;
using speculation::Token;

Choice choice_of(const abi::RowResult& result) { return {static_cast<Token>(result.token), result.probability, result.margin}; }

RowChooser::RowChooser(const sample::SamplerParams& sampling, sample::Verification verification, std::uint32_t candidates)
    : sampler_(sampling),
      candidates_(sampling, candidates,
                  candidates > 0 && (verification != sample::Verification::rejection || sampling.temperature == 0.0f)) {
  if (verification == sample::Verification::rejection) rejection_.emplace(sampling.seed);
}

void RowChooser::set_token(std::size_t position, Token token) {
  if (text_.size() <= position) text_.resize(position + 1);
  text_[position] = token;
}

void RowChooser::set_token(const speculation::TokenTree& rows, std::uint32_t row, std::size_t base) {
  for (;; row = rows.parents()[row]) {
    set_token(base + rows.depths()[row], rows.tokens()[row]);
    if (row == 0) return;
  }
}

void RowChooser::request(exec::PassSpec& spec, exec::Rows& rows) const {
  rows.candidates = candidates_.requests();
  spec.output = rows.candidates.empty() ? output() : exec::Output::candidates;
}

void RowChooser::next_round() {
  drawn_.clear();
  if (rejection_) rejection_->next_round();
}

void RowChooser::restart() {
  drawn_.clear();
  if (rejection_) rejection_.emplace(sampler_.params().seed);
}

Choice RowChooser::choose_by_logits(std::span<const float> logits, std::size_t position) {
  return sampler_.choose(logits, text(position + 1), position + 1);
}

Choice RowChooser::choose(exec::Executor& passes, std::uint32_t row, std::size_t position) {
  if (!needs_logits()) return choice_of(passes.result(row));
  if (const abi::CandidateResult* const result = passes.candidates(row)) {
    const auto choice = candidates_.choose(sampler_, *result, row, text(position + 1), position + 1);
    if (choice) return *choice;
  }
  return choose_by_logits(passes.logits(row), position);
}

Choice RowChooser::draft(exec::Executor& passes, std::uint32_t offset, std::size_t position) {
  return number_or_none([&] {
    if (!rejects()) return choose(passes, 0, position);
    const std::span<const float> logits = passes.logits(0);
    drawn_.resize(offset);  // a new draft replaces the ones after it
    Drawn& drawn = drawn_.emplace_back();
    drawn.distribution = sampler_.distribution(logits, text(position + 1));
    drawn.token = rejection_->draft(drawn.distribution, position + 1);
    return sample::Sampler::describe(logits, drawn.token);
  });
}

const RowChooser::Drawn* RowChooser::drawn_after(const speculation::TokenTree& rows, std::uint32_t row) const {
  if (!rows.is_chain() || row + 1 >= rows.rows() || row >= drawn_.size()) return nullptr;
  return rows.tokens()[row + 1] == drawn_[row].token ? &drawn_[row] : nullptr;
}

Choice RowChooser::verified(exec::Executor& passes, std::uint32_t row, std::size_t position, const Drawn* drawn) {
  Choice choice = accepted(passes, row, position, drawn);
  const int top = sampler_.params().top_logprobs;
  if (top >= 0 && choice.token >= 0) {
    choice.logprobs = std::make_shared<const sample::Logprobs>(
        sample::Sampler::logprobs(passes.logits(row), choice.token, static_cast<std::size_t>(top)));
  }
  return choice;
}

Choice RowChooser::accepted(exec::Executor& passes, std::uint32_t row, std::size_t position, const Drawn* drawn) {
  if (!rejects()) return choose(passes, row, position);
  const std::span<const float> logits = passes.logits(row);
  const std::vector<double> p = sampler_.distribution(logits, text(position + 1));
  const Token token = drawn != nullptr ? rejection_->verify(p, drawn->distribution, drawn->token, position + 1)
                                       : rejection_->verify(p, {}, -1, position + 1);
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
