#include "speculation/acceptance.h"

#include <gtest/gtest.h>

namespace skipstone::speculation {
namespace {

TEST(Acceptance, KnowsNothingButItsPriorAtFirst) {
  const Acceptance fresh(0.5);
  EXPECT_DOUBLE_EQ(fresh.expected(0).tokens, 1.0);
  EXPECT_DOUBLE_EQ(fresh.expected(1).tokens, 1.5);
  EXPECT_DOUBLE_EQ(fresh.expected(3).tokens, 1 + 0.5 + 0.25 + 0.125);
  EXPECT_DOUBLE_EQ(fresh.expected(3).drafts, 3.0);
}

TEST(Acceptance, ComesToWhatItSees) {
  Acceptance seen(0.5, 1e9);
  // Four drafts each round: all of them right half of the time, none the other half.
  for (int i = 0; i < 4000; ++i) seen.add(4, i % 2 == 0 ? 4 : 0, 4);
  EXPECT_NEAR(seen.expected(1).tokens, 1.5, 0.01);
  EXPECT_NEAR(seen.expected(4).tokens, 1 + 4 * 0.5, 0.02);
  EXPECT_NEAR(seen.expected(4).drafts, 4.0, 0.01);
  // Beyond what was tried: as the last position, which was always right after right ones.
  EXPECT_NEAR(seen.expected(6).tokens, 1 + 6 * 0.5, 0.05);
}

TEST(Acceptance, RoundsThatStopEarlyDraftLess) {
  Acceptance seen(0.5, 1e9);
  for (int i = 0; i < 4000; ++i) seen.add(1, 1, 4);  // a threshold ends every round after its first draft
  EXPECT_NEAR(seen.expected(4).drafts, 1.0, 0.01);
  EXPECT_NEAR(seen.expected(4).tokens, 2.0, 0.01);
}

TEST(Acceptance, ForgetsOldRounds) {
  Acceptance seen(0.5, 20);
  for (int i = 0; i < 500; ++i) seen.add(2, 2, 2);
  EXPECT_GT(seen.expected(1).tokens, 1.95);
  for (int i = 0; i < 60; ++i) seen.add(2, 0, 2);
  EXPECT_LT(seen.expected(1).tokens, 1.15);
  seen.fade(1000);
  EXPECT_NEAR(seen.expected(1).tokens, 1.5, 0.01);  // the prior again
}

TEST(Acceptance, NothingAllowedCountsForNothing) {
  Acceptance seen(0.5);
  seen.add(0, 0, 0);
  EXPECT_EQ(seen.rounds(), 0.0);
}

}  // namespace
}  // namespace skipstone::speculation
