// Sampling from what a device says of a row is sampling from the row: the same token, or no answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "base/elementary.h"
#include "sample/candidates.h"
#include "sample/filter_steps.h"

namespace skipstone::sample {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t slots = 256;

/// What a device would say, as exactly as it has to.
struct Said {
  std::vector<Candidate> likely, noisy, listed;
  Candidates row;
};

/// The tokens whose `score` is at least the wanted-th largest.
std::vector<Candidate> at_least(const std::vector<float>& logits, const std::vector<float>& scores, std::size_t wanted, float& bound) {
  std::vector<float> sorted;
  std::copy_if(scores.begin(), scores.end(), std::back_inserter(sorted), [](float s) { return !std::isnan(s); });
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  bound = sorted.size() > wanted ? sorted[wanted] : -infinity;
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (scores[i] >= bound) all.push_back({static_cast<Token>(i), logits[i]});
  }
  return all;
}

Said say(const std::vector<float>& logits, const SamplerParams& params, std::span<const Token> history, std::uint64_t position,
         const CandidateRequest& request, std::mt19937& random) {
  Said said;
  const std::size_t wanted = (request.noise ? slots / 2 : slots) * 11 / 16;
  said.likely = at_least(logits, logits, wanted, said.row.likely_bound);
  std::shuffle(said.likely.begin(), said.likely.end(), random);
  float largest = -infinity;
  for (const Candidate& c : said.likely) largest = std::max(largest, c.logit);
  const auto off = [&](double size) { return 1.0 + size * std::uniform_real_distribution(-1.0, 1.0)(random); };
  double rest = 0, tempered = 0;
  for (const float logit : logits) {
    if (!(logit < said.row.likely_bound)) continue;
    const double x = static_cast<double>(logit) - static_cast<double>(largest);
    rest += std::exp(x) * off(1e-5);
    tempered += std::exp(x / static_cast<double>(params.temperature)) * off(1e-5);
  }
  said.row.rest = static_cast<float>(rest);
  said.row.tempered = request.tempered ? static_cast<float>(tempered) : nan;
  if (request.noise) {
    Noise noise(params.seed, position);
    std::vector<float> scores;
    for (std::uint32_t i = 0; i < logits.size(); ++i)
      scores.push_back(logits[i] / params.temperature + static_cast<float>(noise.of(i) + 1e-4 * (off(1.0) - 1.0)));
    said.noisy = at_least(logits, scores, wanted, said.row.noisy_bound);
  }
  std::vector<Adjustment> adjustments;
  adjustments_after(params, history, adjustments);
  for (const auto& [token, bias, repeated, count] : adjustments) said.listed.push_back({token, logits[static_cast<std::size_t>(token)]});
  said.row.likely = said.likely;
  said.row.noisy = said.noisy;
  said.row.listed = said.listed;
  return said;
}

/// Logits as steep as models' or flat; with ties, infinities and what is no number.
std::vector<float> logits_of(std::mt19937& random, std::size_t vocabulary) {
  std::vector<float> logits(vocabulary);
  std::normal_distribution<float> normal(0.0f, random() % 3 == 0 ? 0.5f : 3.0f);
  for (float& logit : logits) logit = normal(random);
  const auto scatter = [&](float value, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) logits[random() % vocabulary] = value;
  };
  switch (random() % 8) {
    case 0:
      scatter(9.0f, 5);
      break;
    case 1:
      for (float& logit : logits) logit = std::round(logit);
      break;
    case 2:
      scatter(nan, vocabulary / 3), scatter(-infinity, vocabulary / 3);
      break;
    case 3:
      scatter(infinity, 1);
      break;
    default:
      scatter(15.0f, 1), scatter(13.0f, 3);
      break;
  }
  return logits;
}

SamplerParams params_of(std::mt19937& random) {
  SamplerParams params;
  const auto one_of = [&](std::initializer_list<float> values) { return values.begin()[random() % values.size()]; };
  params.temperature = one_of({0.0f, 0.3f, 0.8f, 1.0f, 1.5f, 0.01f});
  params.top_k = static_cast<std::uint32_t>(one_of({0, 0, 1, 20, 40, 100}));
  params.top_p = one_of({1.0f, 1.0f, 0.95f, 0.5f, 0.0f});
  params.min_p = one_of({0.0f, 0.0f, 0.05f, 0.001f});
  params.repeat_penalty = one_of({1.0f, 1.0f, 1.1f, 0.8f});
  params.frequency_penalty = one_of({0.0f, 0.0f, 0.7f, -1.5f});
  params.presence_penalty = one_of({0.0f, 0.4f});
  if (random() % 2 == 0) params.penalty_begin = random() % 40;
  for (Token token = 0; random() % 4 == 0 && token < 50; token += 7)
    params.logit_bias.push_back({token, one_of({-100.0f, -1.0f, 2.0f, 100.0f})});
  params.seed = random();
  return params;
}

TEST(SampleCandidates, GiveTheRowsToken) {
  std::mt19937 random(5);
  std::size_t decided = 0, rows = 0;
  for (int i = 0; i < 6000; ++i) {
    const std::size_t vocabulary = i % 4 == 0 ? 1 + random() % 400 : 2000 + random() % 3000;
    const std::vector<float> logits = logits_of(random, vocabulary);
    if (std::all_of(logits.begin(), logits.end(), [](float logit) { return std::isnan(logit); })) continue;
    const SamplerParams params = params_of(random);
    std::vector<Token> history(random() % 90);
    for (Token& token : history) token = static_cast<Token>(random() % vocabulary);
    const auto request = request_for(params, slots, vocabulary);
    ASSERT_TRUE(request);
    const std::uint64_t position = random();
    Sampler sampler(params);
    const Said said = say(logits, params, history, position, *request, random);
    const auto choice = sampler.choose(said.row, history, position);
    ++rows;
    if (!choice) continue;
    ++decided;
    const Choice wanted = sampler.choose(logits, history, position);
    ASSERT_EQ(choice->token, wanted.token) << "row " << i << ", temperature " << params.temperature << ", top-k " << params.top_k << ", top-p "
                                           << params.top_p << ", min-p " << params.min_p;
    EXPECT_EQ(choice->margin, wanted.margin) << i;
    EXPECT_NEAR(choice->probability, wanted.probability, 2e-5 * static_cast<double>(wanted.probability)) << i;
  }
  EXPECT_GT(decided, rows / 2) << "of " << rows;
  RecordProperty("decided", static_cast<int>(decided));
  std::printf("%zu of %zu rows were decided\n", decided, rows);
}

TEST(SampleCandidates, AreNotAskedForWhereOnlyTheRowWillDo) {
  SamplerParams params;
  params.temperature = 1.0f;
  params.top_k = 300;
  EXPECT_FALSE(request_for(params, slots, 1000));
  EXPECT_TRUE(request_for(params, slots, 200)) << "top-k above the vocabulary is no filter";
  params.top_k = 40;
  EXPECT_TRUE(request_for(params, slots, 1000));
  params.top_logprobs = 0;
  EXPECT_FALSE(request_for(params, slots, 1000));
  params.top_logprobs = -1;
  params.rule = [](std::span<const float>, std::span<const Token>) { return Token{0}; };
  EXPECT_FALSE(request_for(params, slots, 1000));
}

}  // namespace
}  // namespace skipstone::sample
