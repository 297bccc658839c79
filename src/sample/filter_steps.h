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

/// `logit` of a token that occurs `count` times, at least once, among the tokens that penalties look at.
inline float penalised(const SamplerParams& params, float logit, std::size_t count) {
  // Once per token, however often it occurred.
  if (params.repeat_penalty != 1.0f) logit = logit > 0.0f ? logit / params.repeat_penalty : logit * params.repeat_penalty;
  return logit - (static_cast<float>(count) * params.frequency_penalty + params.presence_penalty);
}

/// The tokens that penalties look at, in ascending order; empty where there are none.
inline void recent_tokens(const SamplerParams& params, std::span<const Token> history, std::vector<Token>& recent) {
  recent.clear();
  if (!params.penalises()) return;
  const std::size_t window = std::min<std::size_t>(params.repeat_last, history.size());
  recent.assign(history.end() - static_cast<std::ptrdiff_t>(window), history.end());
  std::sort(recent.begin(), recent.end());
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
