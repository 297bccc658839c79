#include <gtest/gtest.h>

#include <cmath>

#include "speculation/acceptance.h"
#include "speculation/sequence.h"

namespace skipstone::speculation {
namespace {

StopParams params() {
  StopParams p;
  p.gamma = 0.6;
  p.epsilon = 0.01;
  p.alpha = 0.8;
  p.beta1 = 0.5;
  p.beta2 = 0.9;
  return p;
}

TEST(StopPolicy, FollowsTheHandComputedSequence) {
  StopPolicy policy(params());
  policy.update(4, 4, false);  // AR = 1 > .8: .9 * .6 + .1 * .59
  EXPECT_DOUBLE_EQ(policy.acceptance_rate(), 1.0);
  EXPECT_NEAR(policy.threshold(), 0.599, 1e-12);
  policy.update(5, 1, false);  // AR = .5 + .5 * .2 = .6 <= .8: up
  EXPECT_NEAR(policy.acceptance_rate(), 0.6, 1e-12);
  EXPECT_NEAR(policy.threshold(), 0.600, 1e-12);
  policy.update(2, 2, false);  // AR = .3 + .5 = .8 <= .8, the boundary: up
  EXPECT_NEAR(policy.acceptance_rate(), 0.8, 1e-12);
  EXPECT_NEAR(policy.threshold(), 0.601, 1e-12);
  policy.update(12, 12, true);  // AR = .9 > .8, but the length ended the drafts: stays
  EXPECT_NEAR(policy.acceptance_rate(), 0.9, 1e-12);
  EXPECT_NEAR(policy.threshold(), 0.601, 1e-12);
  policy.update(12, 0, true);  // AR = .45: up, although the length ended the drafts
  EXPECT_NEAR(policy.acceptance_rate(), 0.45, 1e-12);
  EXPECT_NEAR(policy.threshold(), 0.602, 1e-12);
}

TEST(StopPolicy, TheFirstRoundSetsTheAverage) {
  StopPolicy policy(params());
  policy.update(10, 9, false);  // an average that started at 0 would be .45 here and raise the threshold
  EXPECT_NEAR(policy.acceptance_rate(), 0.9, 1e-12);
  EXPECT_NEAR(policy.threshold(), 0.599, 1e-12);
}

TEST(StopPolicy, ANewPromptKeepsTheThresholdAndForgetsTheRate) {
  StopPolicy policy(params());
  for (int i = 0; i < 10; ++i) policy.update(3, 0, false);
  EXPECT_NEAR(policy.threshold(), 0.61, 1e-12);
  policy.begin();
  EXPECT_NEAR(policy.threshold(), 0.61, 1e-12);
  policy.update(3, 3, false);
  EXPECT_NEAR(policy.acceptance_rate(), 1.0, 1e-12);
  EXPECT_NEAR(policy.threshold(), 0.609, 1e-12);
}

TEST(StopPolicy, ARoundWithoutDraftsChangesNothing) {
  StopPolicy policy(params());
  policy.update(0, 0, true);
  EXPECT_EQ(policy.threshold(), 0.6);
  policy.update(4, 4, false);
  EXPECT_DOUBLE_EQ(policy.acceptance_rate(), 1.0);  // so that was the first round
}

TEST(StopPolicy, StopsBelowTheThresholdAndForNan) {
  const double threshold = StopPolicy(params()).threshold();
  EXPECT_TRUE(goes_on({7, 0.6001f, 1.0f}, threshold));
  EXPECT_FALSE(goes_on({7, 0.5999f, 1.0f}, threshold));
  EXPECT_FALSE(goes_on({7, std::nanf(""), 1.0f}, threshold));
  EXPECT_TRUE(goes_on({7, 0.0f, 1.0f}, 0.0));
  EXPECT_FALSE(goes_on({7, std::nanf(""), 1.0f}, 0.0));
}

TEST(StopPolicy, FixedThresholdStaysAndTheMovingOneStaysInRange) {
  StopParams fixed = params();
  fixed.adaptive = false;
  StopPolicy still(fixed);
  still.update(3, 0, false);
  EXPECT_EQ(still.threshold(), 0.6);

  StopParams wide = params();
  wide.epsilon = 1.0;
  wide.beta2 = 0.0;
  StopPolicy policy(wide);
  policy.update(3, 0, false);
  EXPECT_EQ(policy.threshold(), 1.0);
  for (int i = 0; i < 20; ++i) policy.update(3, 3, false);
  EXPECT_EQ(policy.threshold(), 0.0);
}

}  // namespace
}  // namespace skipstone::speculation
