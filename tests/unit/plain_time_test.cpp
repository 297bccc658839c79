// What plain decoding would have taken, from rounds whose times and costs are made up.
#include "speculation/plain_time.h"

#include <gtest/gtest.h>

#include <memory>

#include "speculation/loop.h"
#include "speculation/registry.h"
#include "unit/fake_sequence.h"

namespace skipstone::speculation {
namespace {

constexpr std::uint32_t layers = 2;

/// A pass of one row costs 10, of two 12, of up to four 16; a sublayer 2 of each.
RoundCosts made_up() {
  RoundCosts costs;
  costs.add(1, {.attention = 2, .mlp = 2, .rest = 2});
  costs.add(2, {.attention = 2, .mlp = 2, .rest = 4});
  costs.add(4, {.attention = 2, .mlp = 2, .rest = 8});
  return costs;
}

TEST(PlainTime, IsThatOfRoundsWithoutDraftsAndAShareOfTheOthers) {
  const RoundCosts costs = made_up();
  PlainTime time(&costs, layers);
  EXPECT_FALSE(time.seconds_per_token());
  time.add_verification(0.010, 1, 0, nullptr);
  EXPECT_NEAR(time.seconds_per_token().value(), 0.010, 1e-12);
  time.add_verification(0.016, 3, 0, nullptr);  // as the next measured number of rows
  EXPECT_NEAR(time.seconds_per_token().value(), 0.010, 1e-12);
  time.add_verification(3 * 0.012, 2, 0, nullptr);  // another program slows the device down
  EXPECT_NEAR(time.seconds_per_token().value(), (0.010 + 0.010 + 0.030) / 3, 1e-12);
}

TEST(PlainTime, OtherSequencesRowsWouldBeBesideAPlainRowToo) {
  const RoundCosts costs = made_up();
  PlainTime time(&costs, layers);
  time.add_verification(0.016, 3, 1, nullptr);
  EXPECT_NEAR(time.seconds_per_token().value(), 0.012, 1e-12);
  PlainTime many(&costs, layers);
  many.add_verification(0.016, 2, 30, nullptr);  // beyond what was measured all passes count alike
  EXPECT_NEAR(many.seconds_per_token().value(), 0.016, 1e-12);
}

TEST(PlainTime, DraftsInTheSubmissionOfTheirVerificationAreTakenOff) {
  const RoundCosts costs = made_up();
  exec::LayerPlan half = exec::LayerPlan::full(layers);
  half.end = 1;
  const SharedSource source = std::make_shared<LayerPass>(half, false);
  PlainTime time(&costs, layers);
  time.add_round(0.001 * (2 * 6 + 16), 2, source);  // two drafts of 6, then three rows
  EXPECT_NEAR(time.seconds_per_token().value(), 0.010, 1e-12);
}

TEST(PlainTime, VerificationThatContinuesFromDraftsIsShorterBecauseOfThem) {
  const RoundCosts costs = made_up();
  exec::LayerPlan half = exec::LayerPlan::full(layers);
  half.end = 1;
  const SharedSource source = std::make_shared<LayerPass>(half, true);
  const SetCosts round(costs, half, layers, true);
  ASSERT_LT(round.verify[2], 12 + 6);
  PlainTime time(&costs, layers);
  time.add_verification(0.001 * round.verify[2], 2, 0, source);
  EXPECT_NEAR(time.seconds_per_token().value(), 0.010, 1e-12);
}

TEST(PlainTime, WithoutCostsRoundsWithDraftsDoNotCount) {
  const RoundCosts none;
  for (const RoundCosts* costs : {static_cast<const RoundCosts*>(nullptr), &none}) {
    PlainTime time(costs, layers);
    time.add_verification(0.5, 4, 0, nullptr);
    time.add_round(0.5, 2, std::make_shared<LayerPass>(exec::LayerPlan::full(layers)));
    EXPECT_FALSE(time.seconds_per_token());
    time.add_verification(0.010, 1, 0, nullptr);
    EXPECT_NEAR(time.seconds_per_token().value(), 0.010, 1e-12);
  }
}

TEST(PlainTime, PlainDecodingTakesItsOwnTime) {
  test::FakeSequence sequence({}, 200, 8);
  const Outcome outcome =
      generate(sequence, *make_drafter("none"), std::vector<Token>{1, 2, 3}, {.max_tokens = 40, .ends_generation = {}}, {});
  ASSERT_EQ(outcome.tokens.size(), 40u);
  EXPECT_NEAR(outcome.stats.plain_seconds, outcome.stats.generation_seconds, 1e-9);
}

}  // namespace
}  // namespace skipstone::speculation
