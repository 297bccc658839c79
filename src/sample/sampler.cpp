#include "sample/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/elementary.h"
#include "base/status.h"
#include "sample/candidates.h"
#include "sample/filter_steps.h"

namespace skipstone::sample {
namespace {

struct Top {
  std::size_t index = 0;
  float largest = -infinity, second = -infinity;
  std::size_t numbers = 0;  ///< how many logits are not NaN
};

Top find_top(std::span<const float> logits) {
  Top top;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float value = logits[i];
    if (std::isnan(value)) continue;
    if (top.numbers++ == 0 || value > top.largest) {
      if (top.numbers > 1) top.second = top.largest;
      top.largest = value;
      top.index = i;
    } else if (value > top.second) {
      top.second = value;
    }
  }
  if (top.numbers == 0) {
    fail(Code::internal, "sampling: none of the {} logits is a number; the model file or a kernel of this device is at fault (run doctor)",
         logits.size());
  }
  return top;
}

float raw_probability(std::span<const float> logits, std::size_t token, float largest) {
  // A logit more than 40 below the largest (NaN too) counts as 40 below: less than 2^-24 of the sum for any vocabulary below ten billion.
  constexpr double negligible = -40.0;
  constexpr std::size_t block = 256;
  std::array<double, block> exponentials;
  double sum = 0.0;
  for (std::size_t start = 0; start < logits.size(); start += block) {
    const std::size_t count = std::min(block, logits.size() - start);
    const float* source = logits.data() + start;
    for (std::size_t i = 0; i < count; ++i) {  // vectorised
      const double difference = below(source[i], largest);
      exponentials[i] = exp_without_branches(difference > negligible ? difference : negligible);
    }
    for (std::size_t i = 0; i < count; ++i) sum += exponentials[i];
  }
  return static_cast<float>(exp_of_nonpositive(below(logits[token], largest)) / sum);
}

float margin_of(const Top& top) {
  if (top.numbers < 2) return infinity;
  return top.largest == top.second ? 0.0f : top.largest - top.second;
}

/// Likelier first, ties to the lower id.
struct Likelier {
  const std::vector<float>& logits;
  bool operator()(std::uint32_t a, std::uint32_t b) const {
    const float x = logits[a], y = logits[b];
    if (x != y) return x > y;
    return a < b;
  }
};

void check_range(const char* name, float value, float low, float high) {
  if (!(value >= low && value <= high))
    fail(Code::invalid_argument, "sampling: {} is {}, but has to be from {} to {}", name, value, low, high);
}

}  // namespace

void SamplerParams::check() const {
  if (!(temperature >= 0.0f) || std::isinf(temperature)) {
    fail(Code::invalid_argument, "sampling: temperature is {}, but has to be 0 (greedy) or a positive number", temperature);
  }
  check_range("top-p", top_p, 0.0f, 1.0f);
  check_range("min-p", min_p, 0.0f, 1.0f);
  check_range("the frequency penalty", frequency_penalty, -2.0f, 2.0f);
  check_range("the presence penalty", presence_penalty, -2.0f, 2.0f);
  if (!(repeat_penalty > 0.0f) || std::isinf(repeat_penalty)) {
    fail(Code::invalid_argument, "sampling: the repetition penalty is {}, but has to be a positive number (1 turns it off)",
         repeat_penalty);
  }
  for (const TokenBias& bias : logit_bias) check_range("a logit bias", bias.bias, -100.0f, 100.0f);
}

Logprobs Sampler::logprobs(std::span<const float> logits, Token token, std::size_t top) {
  const float largest = find_top(logits).largest;
  double sum = 0.0;
  for (const float logit : logits) {
    if (!std::isnan(logit)) sum += exp_of_nonpositive(below(logit, largest));
  }
  const double log_of_sum = log_of_positive(sum);
  const auto of = [&](Token which) {
    const float logit = logits[static_cast<std::size_t>(which)];
    return std::isnan(logit) ? -infinity : static_cast<float>(below(logit, largest) - log_of_sum);
  };
  Logprobs result{of(token), {}};
  std::vector<Token> likeliest(std::min(top, logits.size()), -1);
  if (!likeliest.empty()) top_k(logits, likeliest);
  for (const Token which : likeliest) {
    if (which >= 0) result.top.push_back({which, of(which)});
  }
  return result;
}

Sampler::Sampler(const SamplerParams& params) : params_(params) { params_.check(); }

void Sampler::adjust(std::span<const float> logits, std::span<const Token> history) {
  scratch_.assign(logits.begin(), logits.end());
  adjustments_after(params_, history, adjustments_);
  for (const Adjustment& adjustment : adjustments_) {
    if (adjustment.token < 0 || static_cast<std::size_t>(adjustment.token) >= scratch_.size()) continue;
    float& logit = scratch_[static_cast<std::size_t>(adjustment.token)];
    logit = adjusted(params_, logit, adjustment);
  }
  if (const TokenMask allowed = params_.allowed ? params_.allowed(history) : nullptr) forbid(*allowed);
}

void Sampler::forbid(const std::vector<std::uint32_t>& allowed) {
  if (std::ranges::all_of(allowed, [](std::uint32_t word) { return word == 0; })) {
    fail(Code::unsupported, "sampling: no token of the vocabulary continues the text as its grammar wants");
  }
  for (std::size_t token = 0; token < scratch_.size(); ++token) {
    const bool fits = token / 32 < allowed.size() && (allowed[token / 32] >> token % 32 & 1) != 0;
    if (!fits) scratch_[token] = std::numeric_limits<float>::quiet_NaN();
  }
}

void Sampler::keep_top_k() {
  const std::size_t k = params_.top_k;
  order_.clear();
  if (k == 0 || k >= scratch_.size()) {
    for (std::uint32_t i = 0; i < scratch_.size(); ++i) {
      if (!std::isnan(scratch_[i])) order_.push_back(i);
    }
    return;
  }
  // One pass that collects what is above a rising bar; whenever 2k are there, the lower half goes. A large vocabulary costs little more
  // than reading it once.
  const Likelier likelier{scratch_};
  order_.reserve(2 * k);
  float bar = -infinity;
  const auto halve = [&] {
    const auto middle = order_.begin() + static_cast<std::ptrdiff_t>(k);
    std::nth_element(order_.begin(), middle - 1, order_.end(), likelier);
    bar = scratch_[*(middle - 1)];
    order_.erase(middle, order_.end());
  };
  bool full = false;
  for (std::uint32_t i = 0; i < scratch_.size(); ++i) {
    // Once k are there, a tie with the bar is a higher id than all of them and loses.
    if (std::isnan(scratch_[i]) || (full && !(scratch_[i] > bar))) continue;
    order_.push_back(i);
    if (order_.size() == 2 * k) {
      halve();
      full = true;
    }
  }
  if (order_.size() > k) halve();
  std::sort(order_.begin(), order_.end(), likelier);  // a library's nth_element leaves an order of its own; sums must not depend on it
}

void Sampler::keep_top_p(double total) {
  const double wanted = static_cast<double>(params_.top_p) * total;
  const Likelier likelier{scratch_};
  double mass = 0.0;
  std::size_t sorted = 0;
  for (std::size_t chunk = 256; sorted < order_.size(); chunk *= 8) {  // the nucleus is small as a rule: sort no more than it needs
    const std::size_t stop = std::min(order_.size(), sorted + chunk);
    const auto first = order_.begin() + static_cast<std::ptrdiff_t>(sorted), last = order_.begin() + static_cast<std::ptrdiff_t>(stop);
    if (last != order_.end()) std::nth_element(first, last - 1, order_.end(), likelier);
    std::sort(first, last, likelier);
    for (; sorted < stop; ++sorted) {
      mass += weights_[order_[sorted]];
      if (mass >= wanted) {
        order_.resize(sorted + 1);
        return;
      }
    }
  }
}

void Sampler::filter() {
  keep_top_k();
  weights_.resize(scratch_.size());
  double total = 0.0;
  const double temperature = static_cast<double>(params_.temperature);
  for (const std::uint32_t token : order_) {
    weights_[token] = exp_of_nonpositive(below(scratch_[token], largest_) / temperature);
    total += weights_[token];
  }
  if (params_.top_p < 1.0f) keep_top_p(total);
  if (params_.min_p > 0.0f) {  // the largest weight is exactly 1
    const double least = static_cast<double>(params_.min_p);
    std::erase_if(order_, [&](std::uint32_t token) { return weights_[token] < least; });
  }
}

Token Sampler::gumbel_max(std::uint64_t position) const {
  const double temperature = static_cast<double>(params_.temperature);
  Noise noise(params_.seed, position);
  double best_score = -std::numeric_limits<double>::infinity();
  std::uint32_t best = order_.front();
  for (const std::uint32_t token : order_) {
    const double height = below(scratch_[token], largest_) / temperature;
    if (height + Noise::largest < best_score) continue;  // what lies further below the best so far needs no noise
    const double score = height + noise.of(token);
    if (score > best_score || (score == best_score && token < best)) {
      best_score = score;
      best = token;
    }
  }
  return static_cast<Token>(best);
}

Choice Sampler::choose(std::span<const float> logits, std::span<const Token> history, std::uint64_t position) {
  const Top raw = find_top(logits);
  std::size_t token = raw.index;
  if (params_.rule) {
    const Token chosen = params_.rule(logits, history);
    if (chosen < 0 || static_cast<std::size_t>(chosen) >= logits.size()) {
      fail(Code::invalid_argument, "the caller's sampler chose token {}, which is outside the vocabulary of {}", chosen, logits.size());
    }
    token = static_cast<std::size_t>(chosen);
  } else if (params_.needs_logits()) {
    adjust(logits, history);
    const Top top = find_top(scratch_);
    token = top.index;
    if (params_.temperature > 0.0f) {
      largest_ = top.largest;
      filter();
      token = static_cast<std::size_t>(gumbel_max(position));
    }
  }
  return {static_cast<Token>(token), raw_probability(logits, token, raw.largest), margin_of(raw)};
}

Choice Sampler::describe(std::span<const float> logits, Token token) {
  const Top raw = find_top(logits);
  return {token, raw_probability(logits, static_cast<std::size_t>(token), raw.largest), margin_of(raw)};
}

Choice Sampler::likeliest(std::span<const float> logits) {
  const Top raw = find_top(logits);
  return {static_cast<Token>(raw.index), raw_probability(logits, raw.index, raw.largest), margin_of(raw)};
}

std::vector<double> Sampler::distribution(std::span<const float> logits, std::span<const Token> history) {
  adjust(logits, history);
  const Top top = find_top(scratch_);
  std::vector<double> result(logits.size(), 0.0);
  if (params_.temperature == 0.0f) {
    result[top.index] = 1.0;
    return result;
  }
  largest_ = top.largest;
  filter();
  double total = 0.0;
  for (const std::uint32_t token : order_) total += weights_[token];
  for (const std::uint32_t token : order_) result[token] = weights_[token] / total;
  return result;
}

}  // namespace skipstone::sample
