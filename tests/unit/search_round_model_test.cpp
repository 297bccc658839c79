// Rounds played over a trace: against the loop itself, and costs by hand.
#include <gtest/gtest.h>

#include <vector>

#include "fake_sequence.h"
#include "speculation/registry.h"
#include "speculation/search/round_model.h"

namespace skipstone::speculation::search {
namespace {

using exec::LayerPlan;

constexpr std::uint32_t layers = 12;

RoundCosts costs() {
  RoundCosts costs;
  costs.add(1, {10, 20, 40});
  costs.add(2, {11, 22, 40});
  costs.add(4, {12, 24, 50});
  costs.add(8, {15, 30, 60});
  return costs;
}

TEST(SetCosts, AreThoseOfTheSublayersThatRun) {
  const LayerPlan set = LayerPlan::parse("attn:4,6;mlp:5", layers);
  const SetCosts kept(costs(), set, layers, true), anew(costs(), set, layers, false);
  EXPECT_DOUBLE_EQ(kept.plain, 40 + 12 * 30);
  EXPECT_DOUBLE_EQ(kept.draft, 40 + 10 * 10 + 11 * 20);
  ASSERT_EQ(kept.verify.size(), 9u);
  EXPECT_DOUBLE_EQ(anew.verify[3], 50 + 12 * 36);
  EXPECT_DOUBLE_EQ(kept.verify[3], (40 + 4 * 30) + (50 + 8 * 36)) << "four layers of one row, eight of three rows in a bucket of four";
  EXPECT_DOUBLE_EQ(kept.verify[1], kept.plain);
}

TEST(RoundCosts, RowsReadTheExpertsThatNoRowBeforeThemHas) {
  EXPECT_DOUBLE_EQ(distinct_experts(8, 0, 5), 40);
  EXPECT_DOUBLE_EQ(distinct_experts(8, 1, 5), 8);
  EXPECT_DOUBLE_EQ(distinct_experts(8, 0.5, 3), 8 + 4 + 2);
  EXPECT_DOUBLE_EQ(distinct_experts(8, 0.25, 1), 8);
  for (const double overlap : {0.0, 0.1, 0.5, 0.95, 1.0}) {
    EXPECT_NEAR(overlap_of_experts(8, distinct_experts(8, overlap, 6), 6), overlap, 1e-6);
  }
  RoundCosts costs;
  costs.add(1, {.mlp = 20, .experts = 8});
  costs.add(4, {.mlp = 30, .expert = 2, .experts = 10});
  costs.set_overlap(0.5);
  EXPECT_DOUBLE_EQ(costs.at(1).mlp, 20);
  EXPECT_DOUBLE_EQ(costs.at(2).mlp, 30 + 2 * (12 - 10)) << "two rows in a bucket of four";
  EXPECT_DOUBLE_EQ(costs.at(4).mlp, 30 + 2 * (15 - 10));
  costs.set_overlap(1);
  EXPECT_DOUBLE_EQ(costs.at(4).mlp, 30 - 2 * 2) << "fewer than were measured";
}

TEST(Play, CountsRoundsByHand) {
  // right, right, wrong, unsure but right, right, right
  const Trace trace = {{true, .9f}, {true, .9f}, {false, .9f}, {true, .2f}, {true, .9f}, {true, .9f}};
  SetCosts set(costs(), LayerPlan::parse("mlp:5", layers), layers, false);
  set.draft = 1, set.plain = 2, set.verify = {0, 2, 3, 4, 5};
  DraftConstants constants{2, true, {.gamma = 0.5, .adaptive = false}};
  // [r r] +1 -> 3 tokens, 2 drafts; at 3: the unsure one is right and the last -> 2 tokens, 1 draft; at 5: no room -> 1 token, no draft
  Expected expected = play(std::vector<Trace>{trace}, constants, set);
  EXPECT_DOUBLE_EQ(expected.tokens_per_round, 2.0);
  EXPECT_DOUBLE_EQ(expected.drafts_per_round, 1.0);
  EXPECT_DOUBLE_EQ(expected.acceptance, 1.0);
  EXPECT_DOUBLE_EQ(expected.speedup, 6 * 2.0 / ((2 + 4) + (1 + 3) + 2));
  constants.k = 3;  // the third draft is wrong: 3 tokens of 3 drafts; then unsure and last; then plain
  expected = play(std::vector<Trace>{trace}, constants, set);
  EXPECT_DOUBLE_EQ(expected.acceptance, 3.0 / 4.0);
  EXPECT_DOUBLE_EQ(expected.speedup, 6 * 2.0 / ((3 + 5) + (1 + 3) + 2));
}

/// The loop with a made-up model whose drafts do not depend on where a round began is what play() assumes; so both count the same rounds.
TEST(Play, IsWhatTheLoopDoes) {
  test::FakeModel model;
  model.agreement = 0.8;
  const std::vector<Token> prompt = {3, 1, 4};
  const std::vector<Token> text = test::decode_plainly(model, prompt, 500, 401, {}, 0).tokens;
  Trace trace;
  std::vector<Token> history = prompt;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    history.push_back(text[i]);
    const Choice draft = model.draft(history);
    trace.push_back({draft.token == text[i + 1], 1.0f});
  }
  for (const std::uint32_t k : {1u, 3u, 6u}) {
    test::FakeSequence sequence(model, 500, 16);
    const auto drafter = make_drafter("skip:mlp:5,gamma=0,adaptive=0,k=" + std::to_string(k));
    drafter->attach({.layers = layers});
    const Stats stats = generate(sequence, *drafter, prompt, {.max_tokens = 401, .ends_generation = {}}, {}).stats;
    const Expected expected = play(std::vector<Trace>{trace}, {k, true, {.gamma = 0, .adaptive = false}},
                                   SetCosts(costs(), LayerPlan::parse("mlp:5", layers), layers, true));
    EXPECT_NEAR(expected.acceptance, stats.acceptance(), 1e-12) << k;
    EXPECT_NEAR(expected.tokens_per_round, 400.0 / static_cast<double>(stats.rounds), 1e-12) << k;
  }
}

TEST(BestRounds, DraftsFarWhereDraftsAreRightAndStopsWhereTheyAreUnsure) {
  const LayerPlan set = LayerPlan::parse("attn:6-11;mlp:6-11", layers);
  const std::vector<Trace> right = {Trace(200, {true, 0.9f})};
  const Best far = best_rounds(right, costs(), set, layers);
  EXPECT_EQ(far.constants.k, 7u);
  EXPECT_GT(far.expected.speedup, 1.2);
  EXPECT_TRUE(far.constants.keep_prefix) << "seven rows of six layers are more than one";

  std::vector<Trace> mixed = {Trace()};
  for (int i = 0; i < 300; ++i) mixed[0].push_back(i % 3 == 2 ? Drafted{false, 0.3f} : Drafted{true, 0.8f});
  const Best careful = best_rounds(mixed, costs(), set, layers);
  const SetCosts set_costs(costs(), set, layers, true);
  for (std::uint32_t k = 1; k <= 7; ++k) {
    for (const double gamma : {0.0, 0.5, 0.9}) {
      EXPECT_GE(careful.expected.speedup, play(mixed, {k, true, {.gamma = gamma, .adaptive = false}}, set_costs).speedup);
    }
  }
  EXPECT_GT(careful.expected.speedup, play(mixed, {7, true, {.gamma = 0, .adaptive = false}}, set_costs).speedup);
}

}  // namespace
}  // namespace skipstone::speculation::search
