// Rejection verification gives the target's distribution, whatever the drafter's: on the distributions of a real model and its own early
// exit, with every filter on both sides.
#include "sample/rejection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gguf/gguf.h"
#include "ref/model.h"
#include "stats/chi_square.h"

namespace skipstone::stats_test {
namespace {

using sample::Token;
using Distribution = std::vector<double>;

struct Row {
  std::vector<float> target, draft;  ///< logits of the whole model, and of its first layers
};

/// What the bundled model and an exit of it say after a few prefixes of a text, from the scalar reference.
const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    const gguf::File file = gguf::File::open(std::string(SKIPSTONE_MODELS) + "/skipstone-py.gguf");
    const ref::Model model(file, KvFormat::f16);
    std::vector<std::int32_t> text;
    for (std::int32_t i = 0; i < 12; ++i) text.push_back(300 + 37 * i);
    auto whole = model.new_sequence(), part = model.new_sequence();
    const auto full = exec::LayerPlan::full(model.config().layer_count());
    auto first = full;
    first.end = model.config().layer_count() / 2;
    const auto p = model.forward(whole, text, 0, full), q = model.forward(part, text, 0, first);
    std::vector<Row> made;
    for (const std::size_t i : {std::size_t{0}, std::size_t{5}, std::size_t{11}}) made.push_back({p.logits[i], q.logits[i]});
    return made;
  }();
  return all;
}

struct Setting {
  const char* name;
  sample::SamplerParams sampling;
};

sample::SamplerParams with(float temperature, std::uint32_t top_k, float top_p, float min_p, float penalty) {
  sample::SamplerParams params;
  params.temperature = temperature;
  params.top_k = top_k;
  params.top_p = top_p;
  params.min_p = min_p;
  params.repeat_penalty = penalty;
  return params;
}

class Rejection : public ::testing::TestWithParam<Setting> {};

constexpr std::uint32_t draws = 16'000;

/// How often each token came out of `rule(sampler, position)`.
template <typename Rule>
std::vector<std::uint64_t> sample_of(std::size_t vocabulary, Rule&& rule) {
  sample::RejectionSampler sampler(4242);
  std::vector<std::uint64_t> counts(vocabulary);
  for (std::uint32_t i = 0; i < draws; ++i) {
    if (i % 16 == 0) sampler.next_round();
    ++counts[static_cast<std::size_t>(rule(sampler, i % 16))];
  }
  return counts;
}

TEST_P(Rejection, GivesTheTargetsDistribution) {
  sample::Sampler filter(GetParam().sampling);
  const std::vector<Token> history{300, 337, 1, 2, 3, 374, 411};
  for (const Row& row : rows()) {
    const Distribution p = filter.distribution(row.target, history), q = filter.distribution(row.draft, history);
    std::uint32_t accepted = 0;
    const auto counts = sample_of(p.size(), [&](const sample::RejectionSampler& sampler, std::uint32_t position) {
      const Token draft = sampler.draft(q, position), token = sampler.verify(p, q, draft, position);
      accepted += token == draft ? 1 : 0;
      return token;
    });
    EXPECT_LT(against(counts, p).deviation(), 5.0);
    EXPECT_LT(total_variation(counts, p), 1.3 * expected_variation(p, draws) + 0.003);
    // A draft is accepted with probability sum min(p, q), no less: rejecting more would still be right, but slow.
    double overlap = 0;
    for (std::size_t i = 0; i < p.size(); ++i) overlap += std::min(p[i], q[i]);
    EXPECT_NEAR(static_cast<double>(accepted) / draws, overlap, 0.015);
  }
}

TEST_P(Rejection, DraftsFromNowhereAreOneHot) {
  sample::Sampler filter(GetParam().sampling);
  const Distribution p = filter.distribution(rows()[1].target, {}), likeliest = [&] {
    Distribution one(p.size());
    one[static_cast<std::size_t>(std::ranges::max_element(p) - p.begin())] = 1;
    return one;
  }();
  const auto guess = static_cast<Token>(std::ranges::max_element(p) - p.begin());
  const auto without =
      sample_of(p.size(), [&](const auto& sampler, std::uint32_t position) { return sampler.verify(p, {}, guess, position); });
  const auto spelt_out =
      sample_of(p.size(), [&](const auto& sampler, std::uint32_t position) { return sampler.verify(p, likeliest, guess, position); });
  EXPECT_LT(against(without, p).deviation(), 5.0);
  EXPECT_LT(against(spelt_out, p).deviation(), 5.0);
}

// The test must see what a wrong rule does.
TEST_P(Rejection, WrongRulesAreFound) {
  sample::Sampler filter(GetParam().sampling);
  const Distribution p = filter.distribution(rows()[1].target, {}), q = filter.distribution(rows()[1].draft, {});
  double difference = 0;
  for (std::size_t i = 0; i < p.size(); ++i) difference += std::abs(p[i] - q[i]) / 2;
  ASSERT_GT(difference, 0.02);
  const auto drafted = sample_of(p.size(), [&](const auto& sampler, std::uint32_t position) { return sampler.draft(q, position); });
  EXPECT_GT(against(drafted, p).deviation(), 5.0) << "the draft's own distribution passes for the target's";
  // A greedy draft that is verified as if it had been drawn from q: what the paper's program does.
  const auto guess = static_cast<Token>(std::ranges::max_element(q) - q.begin());
  if (q[static_cast<std::size_t>(guess)] < 0.9) {
    const auto biased =
        sample_of(p.size(), [&](const auto& sampler, std::uint32_t position) { return sampler.verify(p, q, guess, position); });
    EXPECT_GT(against(biased, p).deviation(), 5.0) << "a greedy draft with the softmax for its q passes";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Filters, Rejection,
    ::testing::Values(Setting{"plain", with(1.0f, 0, 1.0f, 0.0f, 1.0f)}, Setting{"cool", with(0.6f, 0, 0.95f, 0.0f, 1.0f)},
                      Setting{"top_k", with(1.2f, 20, 1.0f, 0.0f, 1.0f)}, Setting{"min_p", with(0.9f, 0, 1.0f, 0.05f, 1.0f)},
                      Setting{"penalty", with(0.8f, 0, 0.9f, 0.0f, 1.4f)}, Setting{"all", with(0.8f, 40, 0.9f, 0.02f, 1.2f)}),
    [](const auto& setting) { return std::string(setting.param.name); });

TEST(Draw, TakesWeightsInOrder) {
  const Distribution weights{0, 1, 0, 3, 0};
  EXPECT_EQ(sample::draw(weights, 0.0), 1);
  EXPECT_EQ(sample::draw(weights, 0.2499), 1);
  EXPECT_EQ(sample::draw(weights, 0.25), 3);
  EXPECT_EQ(sample::draw(weights, 0.9999999999999999), 3);
  EXPECT_ANY_THROW(sample::draw(Distribution{0, 0}, 0.5));
}

}  // namespace
}  // namespace skipstone::stats_test
