// The drafter of LayerSkip: which layers it runs, when it stops, and what it refuses.
#include <gtest/gtest.h>

#include <string>

#include "base/status.h"
#include "speculation/registry.h"
#include "unit/proposals.h"

namespace skipstone::speculation {
namespace {

const ModelFacts trained{.layers = 18, .exit_layer = 6}, untrained{.layers = 18, .exit_layer = 0};

std::unique_ptr<Drafter> attached(const std::string& specification, const ModelFacts& model) {
  auto drafter = make_drafter(specification);
  drafter->attach(model);
  drafter->begin({}, model.layers);
  return drafter;
}

std::string refusal(const std::string& specification, const ModelFacts& model) {
  try {
    attached(specification, model);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(Exit, DraftsWithTheFirstLayers) {
  const auto drafter = attached("exit:9,k=4", trained);
  const Proposal proposal = drafter->propose({});
  const LayerPass pass = test::layers_of(proposal);
  EXPECT_EQ(pass.plan.print(18), "layers:0-8");
  EXPECT_EQ(pass.plan.whole_prefix(), 9u);
  EXPECT_TRUE(pass.keep_prefix);
  EXPECT_EQ(test::passes_of(proposal).length, 4u);
  EXPECT_EQ(drafter->report().plan, "layers:0-8");
  EXPECT_EQ(drafter->report().skipped_sublayers, 18u);
  EXPECT_FALSE(drafter->traits().attention_cosine);
  EXPECT_FALSE(test::layers_of(attached("exit:9,reuse=0", trained)->propose({})).keep_prefix);
}

TEST(Exit, TakesTheLayerThatTheModelWasTrainedFor) {
  EXPECT_EQ(attached("exit", trained)->report().plan, "layers:0-5");
  EXPECT_EQ(attached("exit:k=3", trained)->report().plan, "layers:0-5");
  EXPECT_EQ(attached("exit:3", trained)->report().plan, "layers:0-2");
  EXPECT_EQ(attached("exit:3", untrained)->report().plan, "layers:0-2");
}

TEST(Exit, DraftsAFixedNumberUnlessAThresholdIsGiven) {
  const auto fixed = attached("exit:k=3", trained);
  EXPECT_EQ(test::passes_of(fixed->propose({})).length, 3u);
  EXPECT_EQ(test::passes_of(fixed->propose({})).least_probability, 0.0);
  fixed->observe({3, 0, 3, {}, {}});
  EXPECT_EQ(test::passes_of(fixed->propose({})).least_probability, 0.0);
  EXPECT_EQ(test::passes_of(attached("exit:k=3,gamma=0.4", trained)->propose({})).least_probability, 0.4);
}

TEST(Exit, RefusesLayersThatAreNoExit) {
  EXPECT_NE(refusal("exit", untrained).find("exit:E with E from 1 to 17"), std::string::npos);
  EXPECT_NE(refusal("exit:18", trained).find("18 layers"), std::string::npos);
  EXPECT_NE(refusal("exit:4000000000", trained).find("E goes from 1 to 17"), std::string::npos);
  EXPECT_NE(refusal("exit:1", {.layers = 1, .exit_layer = 0}).find("no early exit"), std::string::npos);
  for (const char* text :
       {"exit:0", "exit:-1", "exit:x", "exit:6.5", "exit:6,7", "exit:99999999999", "exit: 6", "exit:k=0", "exit:6,e=3"}) {
    EXPECT_NE(refusal(text, trained), "") << text;
  }
  EXPECT_NE(refusal("asd:6", trained).find("'6' is not an option"), std::string::npos);
}

}  // namespace
}  // namespace skipstone::speculation
