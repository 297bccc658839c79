#include <gtest/gtest.h>

#include "base/status.h"
#include "speculation/drafters/drafters.h"
#include "speculation/registry.h"

namespace skipstone::speculation {
namespace {

using Tokens = std::vector<Token>;

TEST(NgramGuess, TakesTheLongestMatchAndItsMostFrequentFollower) {
  EXPECT_EQ(guess_by_ngram(Tokens{}).token, -1);
  EXPECT_EQ(guess_by_ngram(Tokens{1, 2, 3}).token, -1);
  EXPECT_EQ(guess_by_ngram(Tokens{1, 2, 1}).token, 2);
  // After 7: 1, 2, 2; after 9 7 it was 1.
  const NgramGuess longer = guess_by_ngram(Tokens{9, 7, 1, 7, 2, 7, 2, 9, 7});
  EXPECT_EQ(longer.token, 1);
  EXPECT_DOUBLE_EQ(longer.share, 1.0);
  const NgramGuess shorter = guess_by_ngram(Tokens{7, 1, 7, 2, 7, 2, 5, 7});
  EXPECT_EQ(shorter.token, 2);
  EXPECT_DOUBLE_EQ(shorter.share, 2.0 / 3.0);
  EXPECT_EQ(guess_by_ngram(Tokens{7, 1, 7, 2, 7}).token, 2);  // a tie: the latest
}

TEST(EarlyExitRule, LeavesForTheTopOrForTheGuess) {
  EarlyExitRequest rule;
  rule.drafted = 4;
  bool rejected = false;
  ExitReason reason = ExitReason::full;
  EXPECT_TRUE(leaves(rule, 0.8, 0.0, rejected, reason));
  EXPECT_EQ(reason, ExitReason::confident);
  EXPECT_TRUE(leaves(rule, 0.5, 0.5, rejected, reason));
  EXPECT_EQ(reason, ExitReason::drafted);
  EXPECT_FALSE(leaves(rule, 0.6, 0.4, rejected, reason));
  EXPECT_FALSE(rejected);
  EXPECT_FALSE(leaves(rule, 0.6, 0.009, rejected, reason));
  EXPECT_TRUE(rejected);
  EXPECT_FALSE(leaves(rule, 0.6, 0.6, rejected, reason));  // given up for good
  EXPECT_TRUE(leaves(rule, 0.9, 0.6, rejected, reason));
  rejected = false;
  rule.mix = 0.5;
  rule.drafted_share = 1.0;
  EXPECT_TRUE(leaves(rule, 0.3, 0.1, rejected, reason));  // (0.1 + 1) / 2
  rule.drafted = -1;
  EXPECT_FALSE(leaves(rule, 0.3, 0.0, rejected, reason));
  EXPECT_FALSE(rejected);
}

TEST(Sequential, ChecksTheLayersThatItIsToldOrThatTheModelWasTrainedFor) {
  const auto checks = [](const std::string& specification, const ModelFacts& model) {
    const auto drafter = make_drafter(specification);
    drafter->attach(model);
    return std::get<EarlyExitRequest>(drafter->propose(Tokens{1, 2, 1})).checks;
  };
  EXPECT_EQ(checks("sequential", {20, 7, {}}), (std::vector<std::uint32_t>{7, 13, 16}));
  EXPECT_EQ(checks("sequential", {20, 0, {}}), (std::vector<std::uint32_t>{10, 15, 17}));
  EXPECT_EQ(checks("sequential:3/9", {20, 7, {}}), (std::vector<std::uint32_t>{3, 9}));
  EXPECT_EQ(checks("sequential", {2, 0, {}}), (std::vector<std::uint32_t>{1}));
}

TEST(Sequential, RefusesWhatMakesNoSense) {
  for (const char* bad : {"sequential:0", "sequential:9/3", "sequential:3/", "sequential:x", "sequential:any=1.5", "sequential:own=-1",
                          "sequential:own=0.1,reject=0.2", "sequential:3/9,recompute=2"}) {
    EXPECT_THROW(make_drafter(bad), Error) << bad;
  }
  const auto drafter = make_drafter("sequential:20");
  EXPECT_THROW(drafter->attach({20, 0, {}}), Error);
  const auto single = make_drafter("sequential");
  EXPECT_THROW(single->attach({1, 0, {}}), Error);
}

}  // namespace
}  // namespace skipstone::speculation
