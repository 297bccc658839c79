// From logits to a token. One object serves the target's and the draft's rows, so both see the same filters and the same noise.
//
// Order: biases -> penalties -> temperature -> top-k -> top-p -> min-p -> Gumbel-max. Each filter looks at what the one before it left:
// top-p's share is of the mass that top-k kept. All of it in double precision, with sums in an order that the text alone decides, and with
// elementary functions of our own (elementary.h), so that equal logits give equal tokens on every platform.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace skipstone::sample {

using Token = std::int32_t;

/// A rule of the caller's: the token after `history`, given that row's logits. Must be a pure function of these two: it is also called for
/// rows of drafts, which are discarded where a draft was wrong.
using Rule = std::function<Token(std::span<const float> logits, std::span<const Token> history)>;

/// Bit i % 32 of word i / 32: token i is allowed; tokens past its end are not.
using TokenMask = std::shared_ptr<const std::vector<std::uint32_t>>;
/// The tokens that may follow `history`; null: all. A pure function, as Rule is.
using AllowedTokens = std::function<TokenMask(std::span<const Token> history)>;

/// What is added to a token's logit.
struct TokenBias {
  Token token = -1;
  float bias = 0;  ///< from -100 to 100
};

struct SamplerParams {
  float temperature = 0.0f;  ///< 0: greedy
  std::uint32_t top_k = 40;  ///< 0: off
  /// 1: off; else the smallest set of likeliest tokens whose mass reaches it (Holtzman et al. 2020); 0: the likeliest alone.
  float top_p = 0.95f;
  float min_p = 0.0f;              ///< 0: off; else drop tokens below min_p times the largest probability
  float repeat_penalty = 1.0f;     ///< 1: off; CTRL's rule (Keskar et al. 2019): positive logits divided, negative multiplied
  std::uint32_t repeat_last = 64;  ///< how many of the latest tokens, prompt and continuation, the penalties look at
  /// 0: off; taken from a token's logit, as OpenAI's API defines them: frequency for each time that the token occurs among these, presence
  /// once where it does. From -2 to 2.
  float frequency_penalty = 0.0f, presence_penalty = 0.0f;
  std::uint64_t seed = 0;
  Rule rule = {};         ///< if set, instead of all of the above
  int top_logprobs = -1;  ///< verified rows have Choice::logprobs with this many of the likeliest tokens; -1: none
  /// If set, frequency and presence penalties look at all tokens of the text from this position on, instead of at the latest ones.
  std::optional<std::uint64_t> penalty_begin = {};
  std::vector<TokenBias> logit_bias = {};  ///< of different tokens
  AllowedTokens allowed = {};              ///< if set, other tokens are as if their logits were not numbers; not with a rule

  /// Throws invalid_argument naming the value that is out of range (NaN included).
  void check() const;
  bool penalises() const { return repeat_penalty != 1.0f || frequency_penalty != 0.0f || presence_penalty != 0.0f; }
  /// Whether logits change before the filters.
  bool adjusts() const { return penalises() || !logit_bias.empty(); }
  /// False where the device's argmax decides alone and nothing else is requested: temperature 0, no penalty and no bias.
  bool needs_logits() const { return rule || allowed || temperature > 0.0f || adjusts() || top_logprobs >= 0; }
};

struct TokenLogprob {
  Token token = -1;
  float logprob = 0;
};

/// Of one row: logarithms of the model's own probabilities, before temperature, penalties and filters.
struct Logprobs {
  float chosen = 0;
  std::vector<TokenLogprob> top;  ///< the likeliest first, ties by id
};

/// The choice of one row of a pass.
struct Choice {
  Token token = -1;
  float probability = 0;  ///< un-tempered, unfiltered softmax probability of `token` (the drafters' confidence)
  float margin = 0;       ///< distance of the two largest logits as the model gave them; infinite where only one is a number
  std::shared_ptr<const Logprobs> logprobs = {};  ///< where they were asked for
};

/// Why the logit of a token changes before the filters.
struct Adjustment {
  Token token = -1;
  float bias = 0;
  bool repeated = false;    ///< among the tokens that the repetition penalty looks at
  std::uint32_t count = 0;  ///< among those that frequency and presence penalties look at
};

struct Candidates;

class Sampler {
 public:
  explicit Sampler(const SamplerParams& params);
  const SamplerParams& params() const { return params_; }

  /// The token at text position `position` (0 is the first token of the prompt, BOS included), given that row's logits and the tokens
  /// before it. A pure function of (params, logits, history, position): *coupled* verification rests on that. Ties go to the lowest id; NaN
  /// never wins; logits that are all NaN throw internal, a mask without tokens unsupported, a rule's token outside the vocabulary
  /// invalid_argument. Noise: Gumbel, Philox4x32-10 with key = seed and counter = (position, token / 4); so an equal draft distribution
  /// gives an equal draft.
  Choice choose(std::span<const float> logits, std::span<const Token> history, std::uint64_t position);

  /// The same from a row's candidates: nothing where they do not decide the token, so that the whole row is needed.
  /// `probability` has the precision of the device's sums.
  std::optional<Choice> choose(const Candidates& row, std::span<const Token> history, std::uint64_t position) const;

  /// The Choice that choose() gives for `token`: its un-tempered probability, and the margin of the row.
  static Choice describe(std::span<const float> logits, Token token);

  static Choice likeliest(std::span<const float> logits);

  /// Of `token` and the `top` likeliest tokens of the row.
  static Logprobs logprobs(std::span<const float> logits, Token token, std::size_t top);

  /// The filtered, renormalised distribution that choose() samples from (temperature 0: one-hot). Same length as logits.
  std::vector<double> distribution(std::span<const float> logits, std::span<const Token> history);

 private:
  class KnownRow;
  void adjust(std::span<const float> logits, std::span<const Token> history);
  void forbid(const std::vector<std::uint32_t>& allowed);
  void filter();
  void keep_top_k();
  void keep_top_p(double total);
  Token gumbel_max(std::uint64_t position) const;

  SamplerParams params_;
  std::vector<float> scratch_;        ///< adjusted logits of the row
  std::vector<std::uint32_t> order_;  ///< the tokens that the filters left
  std::vector<double> weights_;       ///< by token, where in order_: exp((logit - largest) / temperature)
  std::vector<Adjustment> adjustments_;
  float largest_ = 0;  ///< of scratch_
};

}  // namespace skipstone::sample
