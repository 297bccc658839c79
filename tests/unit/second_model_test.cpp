// Drafters whose passes are a second model's, the model's own over a part of its cache, or its head's: what they ask for and what they
// refuse.
#include <gtest/gtest.h>

#include <numeric>

#include "fixtures/failure.h"
#include "speculation/registry.h"
#include "unit/proposals.h"

namespace skipstone::speculation {
namespace {

std::string error_of(const std::string& specification) {
  const auto failure = fixtures::failure_of([&] { make_drafter(specification, {}); });
  EXPECT_EQ(failure.code, Code::invalid_argument) << specification;
  return failure.message;
}

TEST(ModelDrafter, LoadsItsFileAndDraftsWithIt) {
  std::string asked;
  ModelFacts facts;
  facts.load_model = [&](const std::string& file) {
    asked = file;
    return 3u;
  };
  const auto drafter = make_drafter("model:a,b.gguf,k=4,gamma=0.25", facts);
  EXPECT_EQ(asked, "a,b.gguf");
  drafter->begin({}, 2);
  const PassProposal proposal = test::passes_of(drafter->propose({}));
  EXPECT_EQ(test::source_of<SecondModel>(proposal).number, 3u);
  EXPECT_EQ(proposal.length, 4u);
  EXPECT_EQ(proposal.least_probability, 0.25);
  drafter->observe({4, 0, 4});  // nothing accepted: a step up
  EXPECT_GT(test::passes_of(drafter->propose({})).least_probability, 0.25);
}

TEST(ModelDrafter, RefusesWhatCannotBe) {
  EXPECT_EQ(error_of("model"), "drafter model: which one? write model:FILE.gguf");
  EXPECT_EQ(error_of("model:x,k=0"), "drafter model: k=0 has to be a whole number from 1 to 256");
  EXPECT_EQ(fixtures::failure_of([] { make_drafter("model:x", {}); }).code, Code::unsupported);
  EXPECT_EQ(
      error_of("auto:suffix,model:x.gguf"),
      "drafter auto: what drafts of 'model:x.gguf' cost is not measured, so it cannot be one of its drafters; a chain takes it, as in "
      "suffix+model:x.gguf");
}

TEST(ModelDrafter, IsLeftOutWhereItMayBe) {
  for (const Code code : {Code::invalid_argument, Code::bad_file}) {
    ModelFacts facts;
    facts.load_model = [&](const std::string&) -> std::uint32_t { fail(code, "this will not do"); };
    std::string why;
    EXPECT_EQ(make_drafter("model:x+lookup", facts, [&](const std::string& reason) { why = reason; })->name(), "lookup");
    EXPECT_EQ(why, "this will not do");
    EXPECT_EQ(fixtures::failure_of([&] { make_drafter("model:x+lookup", facts); }).code, code);
  }
}

TEST(WindowDrafter, DraftsOnceTheTextIsLongerThanItsWindow) {
  std::vector<Token> text(100);
  const auto drafter = make_drafter("window:3,20,k=6");
  drafter->begin({}, 2);
  EXPECT_FALSE(proposes_something(drafter->propose(std::span(text).first(23))));  // the pending token sees 23 keys, itself among them
  const PassProposal proposal = test::passes_of(drafter->propose(std::span(text).first(24)));
  const auto window_of = [](const PassProposal& drafts) { return test::source_of<WindowPass>(drafts).window; };
  EXPECT_EQ(window_of(proposal), (exec::KeyWindow{3, 20}));
  EXPECT_EQ(proposal.length, 6u);
  EXPECT_FALSE(proposes_something(make_drafter("window")->propose(text)));
  text.resize(300);
  EXPECT_EQ(window_of(test::passes_of(make_drafter("window")->propose(text))), (exec::KeyWindow{4, 252}));
  EXPECT_EQ(window_of(test::passes_of(make_drafter("window:0,1")->propose(text))), (exec::KeyWindow{0, 1}));
}

TEST(WindowDrafter, RefusesWindowsThatCannotBe) {
  for (const char* window : {"4", "4,0", "-1,8", "4,8,16", "4,x", "4;8", "1048577,1", "0,1048577", "99999999999,1"}) {
    EXPECT_EQ(
        error_of(std::string("window:") + window),
        "drafter window: '" + std::string(window) +
            "' is no window; write window:SINK,RECENT with 0 to 1048576 first positions of the text and 1 to 1048576 last ones, as in "
            "window:4,252");
  }
  EXPECT_NE(error_of("auto:window").find("is not measured"), std::string::npos);
}

TEST(KeyWindow, CountsKeys) {
  const exec::KeyWindow window{4, 10};
  EXPECT_EQ(window.keys(0), 1u);
  EXPECT_EQ(window.keys(13), 14u);
  EXPECT_EQ(window.keys(14), 14u);
  EXPECT_EQ(window.keys(1000), 14u);
}

TEST(MtpDrafter, AsksTheHeadForAFewDrafts) {
  const auto drafter = make_drafter("mtp", {.layers = 12, .heads = 1});
  drafter->begin({}, 12);
  const PassProposal proposal = test::passes_of(drafter->propose({}));
  EXPECT_NE(as<PredictionHead>(*proposal.source), nullptr);
  EXPECT_EQ(proposal.length, 3u);
  EXPECT_EQ(proposal.least_probability, 0.0);
  EXPECT_EQ(test::passes_of(make_drafter("mtp:k=7,gamma=0.5", {.heads = 1})->propose({})).length, 7u);
}

TEST(MtpDrafter, RefusesModelsWithoutAHead) {
  const std::string sentence = error_of("mtp");
  EXPECT_NE(sentence.find("drafter mtp: the model has no head for multi-token prediction"), std::string::npos) << sentence;
  EXPECT_EQ(error_of("mtp:k=0"), "drafter mtp: k=0 has to be a whole number from 1 to 256");
  EXPECT_NO_THROW(make_drafter("auto", {.layers = 12}));  // without it
}

TEST(ExpertsDrafter, RunsAllLayersWithFewerExperts) {
  const ModelFacts facts{.layers = 10, .experts_used = 8};
  const auto source_of = [&](const char* specification) {
    return test::source_of<LayerPass>(test::passes_of(make_drafter(specification, facts)->propose({})));
  };
  EXPECT_EQ(source_of("experts").plan.print(10), "experts:2");
  const LayerPass source = source_of("experts:6,k=3");
  EXPECT_EQ(source.plan, exec::LayerPlan::parse("experts:6", 10));
  EXPECT_EQ(source.plan.whole_prefix(), 0u);
  RoundCosts costs;
  costs.add(1, {.attention = 2, .mlp = 4, .rest = 7});
  costs.add(4, {.attention = 3, .mlp = 4, .rest = 8});
  const std::optional<SetCosts> known = source.costs(costs, 10);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->plain, 67.0);
  EXPECT_EQ(known->draft, 57.0);  // three quarters of ten networks
  EXPECT_EQ(known->verify.at(3), 78.0);
}

TEST(ExpertsDrafter, RefusesWhatCannotBe) {
  const auto error_with = [](const char* specification, std::uint32_t used) {
    return fixtures::failure_of([&] { make_drafter(specification, {.layers = 10, .experts_used = used}); }).message;
  };
  EXPECT_EQ(error_with("experts", 0), "drafter experts: the model has no experts");
  EXPECT_EQ(error_with("experts", 1), "drafter experts: the model's tokens have one expert each, so that there are no fewer");
  EXPECT_EQ(error_with("experts:4", 4), "drafter experts: 4 are not fewer than the 4 experts that each token of the model has");
  EXPECT_EQ(error_of("experts:0"), "drafter experts: '0' is not a number of experts; write experts:N, as in experts:2");
  EXPECT_EQ(error_with("skip:attn:1;experts:2", 8), "drafter skip: 'attn:1;experts:2' skips no experts; write experts:2");
  EXPECT_NO_THROW(make_drafter("auto", {.layers = 12}));
}

TEST(MtpDrafter, CostsALayerBesideTheRestOfAPass) {
  RoundCosts costs;
  costs.add(1, {.attention = 2, .mlp = 3, .rest = 7});
  costs.add(4, {.attention = 3, .mlp = 4, .rest = 8});
  const std::optional<SetCosts> known = PredictionHead().costs(costs, 10);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->draft, 12.0);
  EXPECT_EQ(known->plain, 57.0);
  EXPECT_EQ(known->verify.at(3), 78.0);
}

}  // namespace
}  // namespace skipstone::speculation
