#include "sample/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "sample/filter_steps.h"

namespace skipstone::sample {

namespace {

/// A device's exp() and its sums of floats are off by less than this part of themselves: Vulkan allows exp(x) 3 + 2 |x| units in the last
/// place, and what is 40 below the largest is lost in the sum.
constexpr double rest_error = 0x1p-12;
/// Sums of doubles in another order.
constexpr double order_error = 1e-9;

struct Known {
  Token token = -1;
  float raw = 0, logit = 0;  ///< as the model gave it, and with bias and penalties
  double weight = 0;         ///< exp((logit - largest) / temperature)
};

bool likelier(const Known& a, const Known& b) { return a.logit != b.logit ? a.logit > b.logit : a.token < b.token; }

struct Range {
  double low = 0, high = 0;
};

}  // namespace

/// The tokens of a row whose logits are known, and what can be told of all others from that.
class Sampler::KnownRow {
 public:
  KnownRow(const SamplerParams& params, const Candidates& row, std::span<const Token> history, std::uint64_t position)
      : params_(params), row_(row), temperature_(static_cast<double>(params.temperature)), noise_(params.seed, position) {
    adjustments_after(params, history, adjustments_);
  }

  std::optional<Choice> choose() {
    if (!find_top()) return std::nullopt;
    collect(row_.likely);
    if (certain_ == 0) return std::nullopt;
    const std::optional<Known> chosen = params_.temperature > 0.0f ? sample() : std::optional(known_.front());
    if (!chosen) return std::nullopt;
    return Choice{chosen->token, probability(chosen->raw), top_.size() < 2 ? infinity : margin()};
  }

 private:
  /// The two largest logits as the model gave them.
  bool find_top() {
    top_.resize(std::min<std::size_t>(2, row_.likely.size()));
    std::partial_sort_copy(row_.likely.begin(), row_.likely.end(), top_.begin(), top_.end(), [](const Candidate& a, const Candidate& b) {
      return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
    });
    // With fewer than two of several numbers the margin is not known; an infinite one leaves no sum.
    return !top_.empty() && (top_.size() == 2 || is_complete()) && !std::isinf(top_[0].logit);
  }
  bool is_complete() const { return row_.likely_bound == -infinity; }
  float margin() const { return top_[0].logit == top_[1].logit ? 0.0f : top_[0].logit - top_[1].logit; }

  /// Candidates and the tokens whose logits change, the likeliest first; how many of them are certainly the row's likeliest.
  void collect(std::span<const Candidate> candidates) {
    known_.clear();
    for (const Candidate& c : candidates) {
      if (is_listed(c.token)) continue;
      const Adjustment* const adjustment = find_adjustment(adjustments_, c.token);
      known_.push_back({c.token, c.logit, adjustment == nullptr ? c.logit : adjusted(params_, c.logit, *adjustment)});
    }
    for (const Candidate& c : row_.listed) {
      const Adjustment* const adjustment = find_adjustment(adjustments_, c.token);
      if (adjustment == nullptr || std::isnan(c.logit)) continue;
      const float logit = adjusted(params_, c.logit, *adjustment);
      if (!std::isnan(logit)) known_.push_back({c.token, c.logit, logit});
    }
    std::sort(known_.begin(), known_.end(), likelier);
    const auto uncertain = std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return !(k.logit >= row_.likely_bound); });
    certain_ = static_cast<std::size_t>(uncertain - known_.begin());
  }

  bool is_listed(Token token) const {
    const auto found = std::ranges::lower_bound(row_.listed, token, {}, &Candidate::token);
    return found != row_.listed.end() && found->token == token;
  }

  void weigh() {
    for (Known& k : known_) k.weight = exp_of_nonpositive(below(k.logit, largest_) / temperature_);
  }

  std::optional<Known> sample() {
    largest_ = known_.front().logit;
    if (std::isinf(largest_)) return std::nullopt;
    weigh();
    const std::size_t k = params_.top_k;
    if (k > 0) {  // not above the vocabulary: request_for()
      if (k <= certain_) {
        known_.resize(k);
      } else if (!is_complete()) {
        return std::nullopt;
      }
      return of_all();
    }
    if (is_complete()) {
      std::sort(known_.begin(), known_.end(), [](const Known& a, const Known& b) { return a.token < b.token; });  // as a whole row is added
      return of_all();
    }
    if (params_.top_p < 1.0f) {
      const Range wanted = wanted_mass();
      known_.resize(certain_);
      return keep_nucleus(wanted) ? best() : std::nullopt;
    }
    known_.resize(certain_);
    if (params_.min_p > 0.0f && !known_.empty() && known_.back().weight < static_cast<double>(params_.min_p)) return best();
    return best_by_noise();
  }

  /// known_ is all that top-k left.
  std::optional<Known> of_all() {
    if (params_.top_p < 1.0f) {
      double total = 0.0;
      for (const Known& k : known_) total += k.weight;
      std::sort(known_.begin(), known_.end(), likelier);
      const double wanted = static_cast<double>(params_.top_p) * total;
      double mass = 0.0;
      const auto last = std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return (mass += k.weight) >= wanted; });
      if (last != known_.end()) known_.erase(last + 1, known_.end());
    }
    return best();
  }

  /// The mass that top-p wants of the whole row's.
  Range wanted_mass() const {
    double sum = 0.0, listed = 0.0;
    for (const Known& k : known_) sum += k.weight;
    for (const Candidate& c : row_.listed) {
      if (std::isnan(c.logit) || c.logit >= row_.likely_bound || find_adjustment(adjustments_, c.token) == nullptr) continue;
      listed += exp_of_nonpositive(below(c.logit, top_[0].logit) / temperature_);  // the device counts it as it was
    }
    const double scale = std::exp((static_cast<double>(top_[0].logit) - static_cast<double>(largest_)) / temperature_);
    const double rest = static_cast<double>(row_.tempered), p = static_cast<double>(params_.top_p);
    const bool all_listed = row_.listed.size() >= adjustments_.size();  // else a part of the rest is lower by an unknown amount
    const Range others{all_listed ? std::max(0.0, rest * (1 - rest_error) - listed) * scale : 0.0,
                       std::max(0.0, rest * (1 + rest_error) - listed) * scale};
    return {p * (sum + others.low) * (1 - order_error), p * (sum + others.high) * (1 + order_error)};
  }

  /// False where it can not be told which is the last one.
  bool keep_nucleus(const Range& wanted) {
    double mass = 0.0;
    for (std::size_t i = 0; i < known_.size(); ++i) {
      mass += known_[i].weight;
      if (mass >= wanted.high) return known_.resize(i + 1), true;
      if (!(mass < wanted.low)) return false;
    }
    return false;
  }

  std::optional<Known> best() {
    const Known* best = nullptr;
    for (const Known& k : known_) {
      if (params_.min_p > 0.0f && k.weight < static_cast<double>(params_.min_p)) continue;
      offer(k, best);
    }
    return best == nullptr ? std::nullopt : std::optional(*best);
  }

  void offer(const Known& k, const Known*& best) {
    const double score = below(k.logit, largest_) / temperature_ + noise_.of(static_cast<std::uint32_t>(k.token));
    if (best != nullptr && !(score > best_score_ || (score == best_score_ && k.token < best->token))) return;
    best_score_ = score;
    best = &k;
  }

  /// Of all tokens: those that noise favours, and those whose logits change.
  std::optional<Known> best_by_noise() {
    collect(row_.noisy);
    weigh();
    const std::optional<Known> chosen = best();
    if (!chosen) return std::nullopt;
    // The device's scores are floats of logit / temperature + noise.
    const double bound = static_cast<double>(row_.noisy_bound);
    const double error = 0x1p-10 + (std::abs(bound) + 60.0) * 0x1p-20;
    return best_score_ > bound - static_cast<double>(largest_) / temperature_ + error ? chosen : std::nullopt;
  }

  /// Of the model, without temperature, biases, penalties and filters.
  float probability(float raw) const {
    double sum = 0.0;
    for (const Candidate& c : row_.likely) sum += exp_of_nonpositive(below(c.logit, top_[0].logit));
    return static_cast<float>(exp_of_nonpositive(below(raw, top_[0].logit)) / (sum + static_cast<double>(row_.rest)));
  }

  const SamplerParams& params_;
  const Candidates& row_;
  double temperature_;
  Noise noise_;
  std::vector<Adjustment> adjustments_;
  std::vector<Candidate> top_;
  std::vector<Known> known_;
  std::size_t certain_ = 0;
  float largest_ = 0;
  double best_score_ = 0;
};

std::optional<Choice> Sampler::choose(const Candidates& row, std::span<const Token> history, std::uint64_t position) const {
  return KnownRow(params_, row, history, position).choose();
}

std::optional<CandidateRequest> request_for(const SamplerParams& params, std::uint32_t most, std::size_t vocabulary) {
  if (params.rule || params.allowed || params.top_logprobs >= 0 || (params.top_k > most && params.top_k < vocabulary)) return std::nullopt;
  const bool filtered = params.temperature == 0.0f || (params.top_k > 0 && params.top_k < vocabulary);
  return CandidateRequest{.noise = !filtered && params.top_p >= 1.0f, .tempered = !filtered && params.top_p < 1.0f};
}

void top_k(std::span<const float> logits, std::span<Token> out) {
  constexpr std::size_t block = 64;
  const std::size_t wanted = out.size();
  if (wanted == 0) return;
  std::vector<float> values;  // of the tokens in `out`, in their order
  values.reserve(wanted + 1);
  float bar = -std::numeric_limits<float>::infinity();
  for (std::size_t start = 0; start < logits.size(); start += block) {
    const std::span<const float> some = logits.subspan(start, std::min(block, logits.size() - start));
    // Most blocks have nothing above the bar, which vectors see at once; a tie with it is a higher id and loses.
    if (values.size() == wanted) {
      int above = 0;
      for (const float value : some) above |= value > bar ? 1 : 0;
      if (above == 0) continue;
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      const float value = some[i];
      if (value != value || (values.size() == wanted && !(value > bar))) continue;
      const auto place = std::upper_bound(values.begin(), values.end(), value, std::greater<>()) - values.begin();
      const auto last = static_cast<std::ptrdiff_t>(std::min(values.size(), wanted - 1));
      std::copy_backward(out.begin() + place, out.begin() + last, out.begin() + last + 1);
      out[static_cast<std::size_t>(place)] = static_cast<Token>(start + i);
      values.insert(values.begin() + place, value);
      if (values.size() > wanted) values.pop_back();
      if (values.size() == wanted) bar = values.back();
    }
  }
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(values.size()), out.end(), -1);
}

}  // namespace skipstone::sample
