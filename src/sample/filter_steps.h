// The single steps of sampling, for rows of logits and for candidates alike: what is equal in them is equal in the text.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/elementary.h"
#include "base/philox.h"
#include "sample/sampler.h"

namespace skipstone::sample {

inline constexpr float infinity = std::numeric_limits<float>::infinity();

/// logit - largest as a double <= 0; 0 for the largest itself, infinite ones included.
inline double below(float logit, float largest) {
  return logit == largest ? 0.0 : static_cast<double>(logit) - static_cast<double>(largest);
}

/// `logit` with its bias and penalties.
inline float adjusted(const SamplerParams& params, float logit, const Adjustment& adjustment) {
  if (adjustment.bias != 0.0f) logit += adjustment.bias;
  // Once per token, however often it occurred.
  if (adjustment.repeated) logit = logit > 0.0f ? logit / params.repeat_penalty : logit * params.repeat_penalty;
  if (adjustment.count == 0) return logit;
  return logit - (static_cast<float>(adjustment.count) * params.frequency_penalty + params.presence_penalty);
}

/// The tokens whose logits change after `history`, in ascending order.
inline void adjustments_after(const SamplerParams& params, std::span<const Token> history, std::vector<Adjustment>& adjustments) {
  adjustments.clear();
  if (!params.adjusts()) return;
  for (const TokenBias& bias : params.logit_bias) adjustments.push_back({.token = bias.token, .bias = bias.bias});
  const std::size_t end = history.size(), latest = end - std::min<std::size_t>(params.repeat_last, end);
  const bool counts = params.frequency_penalty != 0.0f || params.presence_penalty != 0.0f;
  const std::size_t first_repeated = params.repeat_penalty != 1.0f ? latest : end;
  const std::size_t first_counted = counts ? std::min<std::size_t>(params.penalty_begin.value_or(latest), end) : end;
  for (std::size_t i = std::min(first_repeated, first_counted); i < end; ++i)
    adjustments.push_back({.token = history[i], .repeated = i >= first_repeated, .count = i >= first_counted ? 1u : 0u});
  std::ranges::sort(adjustments, {}, &Adjustment::token);
  auto last = adjustments.begin();
  for (auto next = adjustments.begin(); next != adjustments.end(); ++next) {
    if (next == last) continue;
    if (next->token != last->token) {
      *++last = *next;
      continue;
    }
    last->bias += next->bias;
    last->repeated |= next->repeated;
    last->count += next->count;
  }
  if (!adjustments.empty()) adjustments.erase(last + 1, adjustments.end());
}

/// The adjustment of `token`; null if its logit stays.
inline const Adjustment* find_adjustment(std::span<const Adjustment> adjustments, Token token) {
  const auto found = std::ranges::lower_bound(adjustments, token, {}, &Adjustment::token);
  return found == adjustments.end() || found->token != token ? nullptr : &*found;
}

/// Gumbel noise at a position of the text: Philox, key = seed, counter = (position, token / 4).
class Noise {
 public:
  static constexpr double largest = 23.0;  ///< -ln(-ln u) of the largest u that open_unit() gives is 22.87

  Noise(std::uint64_t seed, std::uint64_t position)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        position_{static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32)} {}

  double of(std::uint32_t token) {
    if (token / 4 != block_) {
      block_ = token / 4;
      words_ = philox({position_[0], position_[1], block_, 0}, key_);
    }
    return -log_of_positive(-log_of_positive(open_unit(words_[token % 4])));
  }

 private:
  std::array<std::uint32_t, 2> key_, position_;
  std::array<std::uint32_t, 4> words_{};
  std::uint32_t block_ = std::numeric_limits<std::uint32_t>::max();  ///< no token's
};

}  // namespace skipstone::sample
