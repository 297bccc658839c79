#include "sample/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "base/philox.h"
#include "base/status.h"

namespace skipstone::sample {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Everything off, sampling at temperature 1.
SamplerParams open() {
  SamplerParams p;
  p.temperature = 1.0f;
  p.top_k = 0;
  p.top_p = 1.0f;
  return p;
}

/// The documented order, written down naively: penalty, temperature, top-k, top-p, min-p.
std::vector<double> naive_distribution(const SamplerParams& p, std::vector<float> logits, const std::vector<Token>& history) {
  std::vector<bool> seen(logits.size());
  const std::size_t from = history.size() - std::min<std::size_t>(p.repeat_last, history.size());
  for (std::size_t i = from; i < history.size(); ++i) seen[static_cast<std::size_t>(history[i])] = true;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (seen[i]) logits[i] = logits[i] > 0 ? logits[i] / p.repeat_penalty : logits[i] * p.repeat_penalty;
  }
  std::vector<std::size_t> rank(logits.size());
  std::iota(rank.begin(), rank.end(), std::size_t{0});
  std::stable_sort(rank.begin(), rank.end(), [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  if (p.top_k > 0 && p.top_k < rank.size()) rank.resize(p.top_k);
  std::vector<double> weight(logits.size());
  double total = 0;
  for (const std::size_t i : rank) {
    weight[i] = std::exp((static_cast<double>(logits[i]) - static_cast<double>(logits[rank[0]])) / static_cast<double>(p.temperature));
    total += weight[i];
  }
  double mass = 0;
  std::size_t kept = 0;
  while (kept < rank.size() && (kept == 0 || mass < static_cast<double>(p.top_p) * total || p.top_p >= 1)) mass += weight[rank[kept++]];
  rank.resize(kept);
  std::erase_if(rank, [&](std::size_t i) { return weight[i] < static_cast<double>(p.min_p); });
  std::vector<double> result(logits.size(), 0.0);
  double sum = 0;
  for (const std::size_t i : rank) sum += weight[i];
  for (const std::size_t i : rank) result[i] = weight[i] / sum;
  return result;
}

double chi_square_excess(const std::vector<double>& expected, const std::vector<int>& counts, int draws) {
  double chi_square = 0, rest_expected = 0, rest_count = 0;
  int bins = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double e = expected[i] * draws;
    if (e == 0) {
      EXPECT_EQ(counts[i], 0) << "token " << i << " was filtered out";
    } else if (e < 8) {  // too rare on their own: one bin together
      rest_expected += e;
      rest_count += counts[i];
    } else {
      chi_square += (counts[i] - e) * (counts[i] - e) / e;
      ++bins;
    }
  }
  if (rest_expected >= 8) {
    chi_square += (rest_count - rest_expected) * (rest_count - rest_expected) / rest_expected;
    ++bins;
  }
  const double freedom = std::max(1, bins - 1);
  return (chi_square - freedom) / std::sqrt(2 * freedom);  // in standard deviations
}

TEST(Sampler, GreedyTakesTheLargestAndTheLowestOfTies) {
  Sampler sampler(SamplerParams{});
  const std::vector<float> logits = {1, 3, nan, 3, -inf, 2.5f};
  const Choice choice = sampler.choose(logits, {}, 0);
  EXPECT_EQ(choice.token, 1);
  EXPECT_EQ(choice.margin, 0.0f);
  const double sum = std::exp(-2.0) + 2 + std::exp(-0.5);
  EXPECT_NEAR(choice.probability, 1 / sum, 1e-7);
  EXPECT_EQ(sampler.distribution(logits, {}), (std::vector<double>{0, 1, 0, 0, 0, 0}));
}

TEST(Sampler, MarginAndProbabilityAreOfTheRawLogits) {
  SamplerParams p;
  p.repeat_penalty = 4.0f;
  Sampler sampler(p);
  const std::vector<Token> history = {0};
  const Choice choice = sampler.choose(std::vector<float>{4, 3, 1}, history, 1);
  EXPECT_EQ(choice.token, 1);  // 4 / 4 = 1 < 3
  EXPECT_EQ(choice.margin, 1.0f);
  EXPECT_NEAR(choice.probability, std::exp(-1.0) / (1 + std::exp(-1.0) + std::exp(-3.0)), 1e-7);
}

TEST(Sampler, NanNeverWinsAndNothingElseIsAnError) {
  for (const float temperature : {0.0f, 1.0f}) {
    SamplerParams p = open();
    p.temperature = temperature;
    Sampler sampler(p);
    EXPECT_THROW(sampler.choose(std::vector<float>{nan, nan}, {}, 0), Error);
    EXPECT_THROW(sampler.choose({}, {}, 0), Error);
    EXPECT_THROW(sampler.distribution(std::vector<float>{nan}, {}), Error);
    for (std::uint64_t position = 0; position < 200; ++position) {
      EXPECT_EQ(sampler.choose(std::vector<float>{nan, -inf, nan, 0.5f, nan}, {}, position).token, 3);
      EXPECT_EQ(sampler.choose(std::vector<float>{nan, 80, inf, nan}, {}, position).token, 2);
    }
    const Choice alone = sampler.choose(std::vector<float>{nan, 2}, {}, 0);
    EXPECT_EQ(alone.token, 1);
    EXPECT_EQ(alone.probability, 1.0f);
    EXPECT_EQ(alone.margin, inf);
    EXPECT_GE(sampler.choose(std::vector<float>{-inf, -inf}, {}, 0).token, 0);
  }
}

TEST(Sampler, FiltersByHand) {
  const std::vector<float> logits = {std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.2f), std::log(0.1f)};
  const auto kept = [&](const SamplerParams& p) {
    std::string out;
    const auto distribution = Sampler(p).distribution(logits, {});
    for (std::size_t i = 0; i < distribution.size(); ++i) {
      if (distribution[i] > 0) out += std::to_string(i);
    }
    return out;
  };
  SamplerParams p = open();
  EXPECT_EQ(kept(p), "01234");
  p.top_k = 2;
  EXPECT_EQ(kept(p), "12");  // of the tie between 2 and 3 the lower id
  p.top_k = 3;
  p.top_p = 0.55f;  // of .4 + .2 + .2: .5, then .75
  EXPECT_EQ(kept(p), "12");
  p.top_p = 0.0f;
  EXPECT_EQ(kept(p), "1");
  p = open();
  p.top_p = 0.85f;
  EXPECT_EQ(kept(p), "0123");
  p = open();
  p.min_p = 0.3f;
  EXPECT_EQ(kept(p), "123");
  p.min_p = 1.0f;
  EXPECT_EQ(kept(p), "1");
  p = open();
  p.temperature = 0.5f;  // squares: .01 .16 .04 .04 .01
  p.min_p = 0.3f;
  EXPECT_EQ(kept(p), "1");
}

TEST(Sampler, PenaltyCountsAWindowAndEachTokenOnce) {
  SamplerParams p = open();
  p.repeat_penalty = 2.0f;
  p.repeat_last = 3;
  const std::vector<float> logits = {2, -2, 0, 1};
  const std::vector<Token> history = {3, 0, 1, 0};  // 3 is outside the window; 0 occurs twice in it
  const auto distribution = Sampler(p).distribution(logits, history);
  const double sum = std::exp(1.0) + std::exp(-4.0) + 1 + std::exp(1.0);
  EXPECT_NEAR(distribution[0], std::exp(1.0) / sum, 1e-12);
  EXPECT_NEAR(distribution[1], std::exp(-4.0) / sum, 1e-12);
  EXPECT_NEAR(distribution[3], std::exp(1.0) / sum, 1e-12);
  p.repeat_last = 0;
  EXPECT_NEAR(Sampler(p).distribution(logits, history)[0], std::exp(2.0) / (std::exp(2.0) + std::exp(-2.0) + 1 + std::exp(1.0)), 1e-12);
  const std::vector<Token> foreign = {-5, 1000000};
  p.repeat_last = 64;
  EXPECT_EQ(Sampler(p).distribution(logits, foreign), Sampler(open()).distribution(logits, foreign));
}

TEST(Sampler, FiltersAgreeWithTheNaiveOnesOnLargeVocabularies) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0, 3);
  for (int i = 0; i < 60; ++i) {
    std::vector<float> logits(static_cast<std::size_t>(random() % 6000 + 1));
    const bool coarse = i % 3 == 0;  // many ties
    for (float& logit : logits) logit = coarse ? std::round(normal(random)) : normal(random);
    SamplerParams p = open();
    p.temperature = 0.3f + static_cast<float>(i % 5) * 0.4f;
    p.top_k = i % 2 == 0 ? 0 : static_cast<std::uint32_t>(random() % 700 + 1);
    p.top_p = i % 4 < 2 ? 1.0f : 0.5f + static_cast<float>(random() % 500) / 1000;
    p.min_p = i % 5 == 0 ? 0.01f : 0.0f;
    p.repeat_penalty = i % 3 == 1 ? 1.3f : 1.0f;
    std::vector<Token> history(100);
    for (Token& token : history) token = static_cast<Token>(random() % logits.size());
    const auto expected = naive_distribution(p, logits, history);
    const auto actual = Sampler(p).distribution(logits, history);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t t = 0; t < expected.size(); ++t) {
      ASSERT_EQ(actual[t] == 0, expected[t] == 0) << "case " << i << " token " << t;
      ASSERT_NEAR(actual[t], expected[t], 1e-12) << "case " << i << " token " << t;
    }
  }
}

TEST(Sampler, NoiseIsGumbelFromPhiloxAsDocumented) {
  SamplerParams p = open();
  p.seed = 0x123456789abcdef0u;
  p.temperature = 1.5f;
  Sampler sampler(p);
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 1);
  for (std::uint64_t i = 0; i < 500; ++i) {
    const std::uint64_t position = i * 0x10000001u;  // beyond 32 bits
    std::vector<float> logits(37);
    for (float& logit : logits) logit = normal(random);
    double best = -1e300;
    Token expected = -1;
    for (std::uint32_t token = 0; token < 37; ++token) {
      const auto words = philox({static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32), token / 4, 0},
                                {0x9abcdef0u, 0x12345678u});
      const double score = static_cast<double>(logits[token]) / 1.5 - std::log(-std::log(open_unit(words[token % 4])));
      if (score > best) {
        best = score;
        expected = static_cast<Token>(token);
      }
    }
    ASSERT_EQ(sampler.choose(logits, {}, position).token, expected) << position;
  }
}

TEST(Sampler, FrequencyAndPresencePenaltiesAreTakenFromLogits) {
  const std::vector<float> logits = {1.0f, 2.0f, -1.0f, 0.5f};
  SamplerParams params = open();
  params.frequency_penalty = 0.5f;
  params.presence_penalty = -0.25f;
  params.repeat_last = 4;
  // Of the last four tokens: 1 twice, 2 and 3 once; 0 is before them.
  const auto penalised = Sampler(params).distribution(logits, std::vector<Token>{0, 1, 3, 1, 2});
  const std::vector<double> by_hand = {1.0, 2.0 - 2 * 0.5 + 0.25, -1.0 - 0.5 + 0.25, 0.5 - 0.5 + 0.25};
  double sum = 0;
  for (const double logit : by_hand) sum += std::exp(logit);
  for (std::size_t i = 0; i < by_hand.size(); ++i) EXPECT_NEAR(penalised[i], std::exp(by_hand[i]) / sum, 1e-6) << i;
  params.frequency_penalty = 2.1f;
  EXPECT_THROW(params.check(), Error);
  params.frequency_penalty = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(params.check(), Error);
}

TEST(Sampler, FrequencyAndPresenceCountFromAPlaceOfTheText) {
  const std::vector<float> logits = {1.0f, 2.0f, -1.0f, 0.5f};
  SamplerParams params = open();
  params.frequency_penalty = 0.5f;
  params.presence_penalty = -0.25f;
  params.repeat_last = 1;
  params.penalty_begin = 2;  // of the answer 1 twice and 3; 0 and 2 are the prompt's
  const auto found = Sampler(params).distribution(logits, std::vector<Token>{0, 2, 1, 3, 1});
  const std::vector<double> by_hand = {1.0, 2.0 - 2 * 0.5 + 0.25, -1.0, 0.5 - 0.5 + 0.25};
  double sum = 0;
  for (const double logit : by_hand) sum += std::exp(logit);
  for (std::size_t i = 0; i < by_hand.size(); ++i) EXPECT_NEAR(found[i], std::exp(by_hand[i]) / sum, 1e-6) << i;
  const std::vector<Token> prompt = {0, 2};
  EXPECT_EQ(Sampler(params).distribution(logits, prompt), Sampler(open()).distribution(logits, prompt));
  params.repeat_penalty = 2.0f;  // looks at the last token still, the prompt's included
  EXPECT_LT(Sampler(params).distribution(logits, prompt)[2], Sampler(open()).distribution(logits, prompt)[2]);
}

TEST(Sampler, BiasesComeBeforePenaltiesAndFilters) {
  const std::vector<float> logits = {1.0f, 3.0f, -2.0f, 0.0f};
  SamplerParams params;
  params.temperature = 0;
  EXPECT_FALSE(params.needs_logits());
  params.logit_bias = {{2, 6.0f}};
  EXPECT_TRUE(params.needs_logits());
  Sampler greedy(params);
  EXPECT_EQ(greedy.choose(logits, {}, 0).token, 2);
  EXPECT_EQ(greedy.choose(logits, {}, 0).probability, Sampler::describe(logits, 2).probability) << "the model's own";
  params.repeat_penalty = 2.0f;  // (-2 + 6) / 2 = 2 is below 3
  EXPECT_EQ(Sampler(params).choose(logits, std::vector<Token>{2}, 1).token, 1);
  params = open();
  params.top_k = 1;
  params.logit_bias = {{1, -100.0f}};
  EXPECT_NEAR(Sampler(params).distribution(logits, {})[0], 1.0, 1e-12);
  params.logit_bias = {{1, -100.5f}};
  EXPECT_THROW(params.check(), Error);
  params.logit_bias = {{1, std::numeric_limits<float>::quiet_NaN()}};
  EXPECT_THROW(params.check(), Error);
}

TEST(Sampler, LogprobsAreOfTheUnfilteredModel) {
  const std::vector<float> logits = {1.0f, 3.0f, -2.0f, 3.0f, 0.0f};
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  const auto by_hand = [&](std::size_t token) { return static_cast<double>(logits[token]) - std::log(sum); };
  const Logprobs found = Sampler::logprobs(logits, 2, 3);
  EXPECT_NEAR(static_cast<double>(found.chosen), by_hand(2), 1e-6);
  ASSERT_EQ(found.top.size(), 3u);
  EXPECT_EQ(found.top[0].token, 1) << "of equal ones the first";
  EXPECT_EQ(found.top[1].token, 3);
  EXPECT_EQ(found.top[2].token, 0);
  for (const TokenLogprob& one : found.top) EXPECT_NEAR(static_cast<double>(one.logprob), by_hand(static_cast<std::size_t>(one.token)), 1e-6);
  EXPECT_EQ(Sampler::logprobs(logits, 0, 9).top.size(), logits.size());
  EXPECT_TRUE(Sampler::logprobs(logits, 0, 0).top.empty());
}

TEST(Sampler, ChoicesFollowTheDistribution) {
  const std::vector<float> logits = {1.2f, -0.3f, 2.1f, 0.0f, 2.1f, -2.0f, 0.7f, 1.9f, -5.0f, 0.4f, 1.1f, -1.0f, 0.9f, 1.5f, -0.5f, 0.2f};
  const std::vector<Token> history = {2, 7, 7, 5};
  std::vector<SamplerParams> cases(9, open());
  cases[1].top_k = 5;
  cases[2].top_p = 0.8f;
  cases[3].min_p = 0.2f;
  cases[4].repeat_penalty = 1.5f;
  cases[5].temperature = 2.5f;
  cases[6] = {.temperature = 0.7f, .top_k = 12, .top_p = 0.95f, .min_p = 0.03f, .repeat_penalty = 1.2f, .repeat_last = 64, .seed = 99};
  cases[7].frequency_penalty = 0.8f;
  cases[8].presence_penalty = -1.3f;
  constexpr int draws = 30000;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    const auto expected = Sampler(cases[c]).distribution(logits, history);
    EXPECT_NEAR(std::accumulate(expected.begin(), expected.end(), 0.0), 1.0, 1e-12);
    std::vector<int> by_position(logits.size()), by_seed(logits.size());
    Sampler sampler(cases[c]);
    for (int i = 0; i < draws; ++i) {
      ++by_position[static_cast<std::size_t>(sampler.choose(logits, history, static_cast<std::uint64_t>(i)).token)];
      SamplerParams p = cases[c];
      p.seed = static_cast<std::uint64_t>(i) << 20;
      ++by_seed[static_cast<std::size_t>(Sampler(p).choose(logits, history, 4).token)];
    }
    EXPECT_LT(chi_square_excess(expected, by_position, draws), 4.5) << "case " << c;
    EXPECT_LT(chi_square_excess(expected, by_seed, draws), 4.5) << "case " << c;
  }
}

TEST(Sampler, ChoiceIsAPureFunction) {
  SamplerParams p = open();
  p.repeat_penalty = 1.1f;
  p.top_p = 0.9f;
  Sampler used(p);
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 2);
  const std::vector<Token> history = {1, 2, 3};
  for (std::uint64_t i = 0; i < 200; ++i) {
    std::vector<float> logits(static_cast<std::size_t>(random() % 300 + 5));
    for (float& logit : logits) logit = normal(random);
    const Choice a = used.choose(logits, history, i), b = Sampler(p).choose(logits, history, i);
    ASSERT_EQ(a.token, b.token);
    ASSERT_EQ(a.probability, b.probability);
    ASSERT_EQ(a.margin, b.margin);
  }
}

TEST(Sampler, ParametersOutOfRangeAreNamed) {
  const auto error_of = [](auto change) {
    SamplerParams p;
    change(p);
    try {
      Sampler sampler(p);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      return std::string(error.what());
    }
    return std::string();
  };
  for (const float bad : {-0.1f, nan, inf}) {
    EXPECT_NE(error_of([&](SamplerParams& p) { p.temperature = bad; }).find("temperature"), std::string::npos);
    EXPECT_NE(error_of([&](SamplerParams& p) { p.repeat_penalty = bad; }).find("repetition penalty"), std::string::npos);
    EXPECT_NE(error_of([&](SamplerParams& p) { p.top_p = bad; }).find("top-p"), std::string::npos);
    EXPECT_NE(error_of([&](SamplerParams& p) { p.min_p = bad; }).find("min-p"), std::string::npos);
  }
  EXPECT_NE(error_of([](SamplerParams& p) { p.repeat_penalty = 0; }), "");
  EXPECT_NE(error_of([](SamplerParams& p) { p.top_p = 1.01f; }), "");
  EXPECT_EQ(error_of([](SamplerParams&) {}), "");
  EXPECT_FALSE(SamplerParams{}.needs_logits());
}

}  // namespace
}  // namespace skipstone::sample
