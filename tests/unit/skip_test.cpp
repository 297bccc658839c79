// The drafter of Draft & Verify: its skip set and what it refuses.
#include <gtest/gtest.h>

#include <string>

#include "base/status.h"
#include "fixtures/temporary_directory.h"
#include "speculation/registry.h"
#include "speculation/search/profile.h"
#include "unit/proposals.h"

namespace skipstone::speculation {
namespace {

const ModelFacts model{.layers = 12, .exit_layer = 0};

std::unique_ptr<Drafter> attached(const std::string& specification) {
  auto drafter = make_drafter(specification);
  drafter->attach(model);
  drafter->begin({}, model.layers);
  return drafter;
}

TEST(Skip, DraftsWithoutTheSublayersThatItIsGiven) {
  const auto drafter = attached("skip:attn:3,5-7;mlp:9,k=4,gamma=0.5");
  const PassProposal proposal = test::passes_of(drafter->propose({}));
  const exec::LayerPlan plan = test::source_of<LayerPass>(proposal).plan;
  EXPECT_EQ(plan.print(12), "attn:3,5-7;mlp:9");
  EXPECT_EQ(plan.whole_prefix(), 3u);
  EXPECT_EQ(proposal.length, 4u);
  EXPECT_EQ(drafter->report().skipped_sublayers, 5u);
  EXPECT_FALSE(drafter->traits().attention_cosine);
  EXPECT_EQ(proposal.least_probability, 0.5);
}

TEST(Skip, ThresholdFollowsTheAcceptanceRateUnlessStatic) {
  const auto moving = attached("skip:mlp:9,gamma=0.5,eps=0.5,b2=0"), fixed = attached("skip:mlp:9,gamma=0.5,eps=0.5,b2=0,adaptive=0");
  for (Drafter* drafter : {moving.get(), fixed.get()}) drafter->observe({4, 0, 12, {}, {}});
  EXPECT_EQ(test::passes_of(moving->propose({})).least_probability, 1.0);
  EXPECT_EQ(test::passes_of(fixed->propose({})).least_probability, 0.5);
}

TEST(Skip, TakesTheProfileBesideTheModelWhereNoSetIsNamed) {
  const fixtures::TemporaryDirectory folder;
  search::Profile profile;
  profile.fingerprint = "0123456789abcdef";
  profile.layers = 12;
  profile.skip_set = "attn:5;mlp:7";
  profile.constants.k = 3;
  profile.constants.stop.gamma = 0.25;
  ModelFacts facts = model;
  facts.fingerprint = profile.fingerprint;
  facts.profile = folder.file("m.skip.json");
  search::write_profile(profile, facts.profile);
  const auto proposal_of = [&](const char* specification) {
    auto drafter = make_drafter(specification);
    drafter->attach(facts);
    drafter->begin({}, facts.layers);
    return test::passes_of(drafter->propose({}));
  };
  const auto plan_of = [](const PassProposal& proposal) { return test::source_of<LayerPass>(proposal).plan; };
  EXPECT_EQ(plan_of(proposal_of("skip")).print(12), "attn:5;mlp:7");
  EXPECT_EQ(proposal_of("skip").length, 3u);
  EXPECT_EQ(proposal_of("skip").least_probability, 0.25);
  EXPECT_EQ(proposal_of("skip:k=5").length, 5u) << "options stand before the profile's constants";
  EXPECT_EQ(proposal_of("skip:k=5").least_probability, 0.25);
  EXPECT_EQ(plan_of(proposal_of("skip:attn:3")).print(12), "attn:3") << "a set that is named stands before the profile";
  facts.fingerprint = "another";
  EXPECT_THROW(proposal_of("skip"), Error);
}

TEST(Skip, RefusesPlansThatAreNone) {
  for (const char* text : {"skip", "skip:", "skip:k=3", "skip:full", "skip:attn:12", "skip:attn:x", "skip:9", "skip:attn:7-5",
                           "skip:layers:3-11", "skip:attn:3,k=0", "skip:attn:3,9=2"}) {
    EXPECT_THROW(attached(text), Error) << text;
  }
}

}  // namespace
}  // namespace skipstone::speculation
