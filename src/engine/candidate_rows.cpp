#include "engine/candidate_rows.h"

#include <algorithm>
#include <array>

#include "sample/filter_steps.h"

namespace skipstone::engine {

using sample::Token;

namespace {

/// A row that candidates do not decide costs a copy of its logits, or a pass. If more than a quarter of the rows do, full rows cost less.
constexpr double most_undecided = 0.25;
constexpr double latest = 1.0 / 16;
constexpr std::uint32_t pause_rows = 256;

// With noise, half of the slots are for likely tokens; a row has a third fewer likely tokens than that (candidates.comp).
constexpr std::uint32_t most_top_k = CANDIDATE_SLOTS / 2;

std::vector<sample::Candidate> pairs(const std::uint32_t* tokens, const float* logits, std::uint32_t count) {
  std::vector<sample::Candidate> result(count);
  for (std::uint32_t i = 0; i < count; ++i) result[i] = {static_cast<Token>(tokens[i]), logits[i]};
  return result;
}

}  // namespace

CandidateRows::CandidateRows(const sample::SamplerParams& sampling, std::uint32_t vocabulary, bool on) : params_(sampling) {
  if (on && sampling.needs_logits()) wanted_ = sample::request_for(sampling, most_top_k, vocabulary);
}

void CandidateRows::add(CandidateRequests& requests, std::span<const Token> history, std::uint64_t position) {
  if (!wanted_ || pause_ > 0) requests.complete_ = false;
  if (pause_ > 0) --pause_;
  if (!requests.complete_) return;
  abi::CandidateRequest& request = requests.rows_.emplace_back();
  request.noise = wanted_->noise ? 1 : 0;
  request.tempered = wanted_->tempered ? 1 : 0;
  request.inverse_temperature = params_.temperature > 0.0f ? 1.0f / params_.temperature : 1.0f;
  request.seed = {static_cast<std::uint32_t>(params_.seed), static_cast<std::uint32_t>(params_.seed >> 32)};
  request.position = {static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32)};
  sample::adjustments_after(params_, history, adjustments_);
  if (adjustments_.size() > request.tokens.size()) {
    requests.complete_ = false;
    return;
  }
  request.listed = static_cast<std::uint32_t>(adjustments_.size());
  std::ranges::transform(adjustments_, request.tokens.begin(), &sample::Adjustment::token);
}

std::optional<sample::Choice> CandidateRows::choose(const sample::Sampler& sampler, const abi::CandidateRequest& request,
                                                    const abi::CandidateResult& result, std::span<const Token> history,
                                                    std::uint64_t position) {
  const std::uint32_t slots = request.noise != 0 ? CANDIDATE_SLOTS / 2 : CANDIDATE_SLOTS;
  std::optional<sample::Choice> choice;
  if (result.likely <= slots && result.noisy <= slots) {
    const auto likely = pairs(result.tokens.data(), result.logits.data(), result.likely);
    const auto noisy = pairs(result.tokens.data() + slots, result.logits.data() + slots, result.noisy);
    const auto listed = pairs(request.tokens.data(), result.listed.data(), request.listed);
    choice = sampler.choose({.likely = likely,
                             .noisy = noisy,
                             .listed = listed,
                             .likely_bound = result.likely_bound,
                             .noisy_bound = result.noisy_bound,
                             .rest = result.rest,
                             .tempered = result.tempered},
                            history, position);
  }
  undecided_ += latest * ((choice ? 0.0 : 1.0) - undecided_);
  if (undecided_ > most_undecided) {
    undecided_ = 0;
    pause_ = pause_rows;
  }
  return choice;
}

}  // namespace skipstone::engine
