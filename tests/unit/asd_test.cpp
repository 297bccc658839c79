#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/status.h"
#include "speculation/drafters/drafters.h"
#include "speculation/registry.h"
#include "unit/proposals.h"

namespace skipstone::speculation {
namespace {

//                                   layer 0     1      2     3       4       5      6     7     8     9     10     11
const std::vector<float> cosines = {0.60f, 0.990f, 0.95f, 0.985f, 0.9849f, 0.999f, 0.9f, 0.9f, 0.9f, 0.9f, 0.999f, 0.991f};

std::string plan(const AsdParams& params) { return asd_plan(params, cosines, 12).print(12); }

AsdParams ablation(bool cosine, bool rule1, bool rule2) {
  AsdParams params;
  params.cosine = cosine;
  params.rule1 = rule1;
  params.rule2 = rule2;
  return params;
}

std::string error_of(std::string_view specification) {
  try {
    make_drafter(specification);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(AsdPlan, DefaultsByHand) { EXPECT_EQ(plan(AsdParams{}), "attn:1-3,5,8;mlp:2,5,8"); }

TEST(AsdPlan, AblationByHand) {
  EXPECT_EQ(plan(ablation(true, false, false)), "attn:1,3,5,10-11");
  EXPECT_EQ(plan(ablation(true, false, true)), "attn:1,3,5");
  EXPECT_EQ(plan(ablation(false, true, false)), "attn:2,5,8,11;mlp:2,5,8,11");
  EXPECT_EQ(plan(ablation(false, true, true)), "attn:2,5,8;mlp:2,5,8");
  EXPECT_EQ(plan(ablation(true, true, false)), "attn:1-3,5,8,10-11;mlp:2,5,8,11");
  EXPECT_EQ(plan(ablation(false, false, true)), "full");
}

TEST(AsdPlan, ConstantsMoveIt) {
  AsdParams params;
  params.n = 4;
  params.m = 3;  // CodeLlama-13B in the paper
  EXPECT_EQ(plan(params), "attn:1,3,5,7;mlp:3,7");
  params.m = 0;
  EXPECT_EQ(plan(params), "attn:1,3,5,7,10-11;mlp:3,7,11");
  params.m = 200;
  EXPECT_EQ(plan(params), "full");
  params = {};
  params.n = 1;
  EXPECT_EQ(plan(params), "attn:0-9;mlp:0-9");
  params = ablation(true, false, false);
  params.c = -1;
  EXPECT_EQ(plan(params), "attn:0-11");
}

TEST(AsdPlan, NanSkipsNothingAndAWrongCountIsRefused) {
  const std::vector<float> undefined(12, std::nanf(""));
  EXPECT_EQ(asd_plan(ablation(true, false, true), undefined, 12).print(12), "full");
  EXPECT_THROW(asd_plan(AsdParams{}, cosines, 13), Error);
  EXPECT_EQ(asd_plan(ablation(false, true, true), {}, 12).print(12), "attn:2,5,8;mlp:2,5,8");
}

TEST(Asd, ProposesItsPlanAndStopsWhereUnsure) {
  const auto drafter = make_drafter("asd:k=3,gamma=0.5");
  EXPECT_TRUE(drafter->traits().attention_cosine);
  drafter->begin({{}, cosines}, 12);
  const PassProposal proposal = test::passes_of(drafter->propose({}));
  EXPECT_EQ(test::source_of<LayerPass>(proposal).plan.print(12), "attn:1-3,5,8;mlp:2,5,8");
  EXPECT_EQ(proposal.length, 3u);
  EXPECT_EQ(drafter->report().plan, "attn:1-3,5,8;mlp:2,5,8");
  EXPECT_EQ(drafter->report().skipped_sublayers, 8u);
  EXPECT_EQ(proposal.least_probability, 0.5);
}

TEST(Asd, RefreshesItsSetEveryNTokens) {
  const auto drafter = make_drafter("asd:rule1=0,refresh=10");
  const auto set = [&] { return drafter->report().plan; };
  drafter->begin({{}, cosines}, 12);
  EXPECT_EQ(set(), "attn:1,3,5");
  std::vector<float> others(12, 0.9f);
  others[7] = 0.99f;
  EXPECT_FALSE(drafter->skip_sets()->wants_refresh(9));
  EXPECT_FALSE(drafter->skip_sets()->refresh(others, 9)) << "what another drafter of a chain has asked for";
  EXPECT_EQ(set(), "attn:1,3,5");
  EXPECT_TRUE(drafter->skip_sets()->wants_refresh(10));
  EXPECT_TRUE(drafter->skip_sets()->refresh(others, 13));
  EXPECT_EQ(set(), "attn:7");
  EXPECT_EQ(test::layers_of(drafter->propose({})).plan.print(12), "attn:7");
  EXPECT_FALSE(drafter->skip_sets()->wants_refresh(22));
  EXPECT_TRUE(drafter->skip_sets()->wants_refresh(23));
  EXPECT_FALSE(drafter->skip_sets()->refresh(others, 23)) << "the same set again";
  EXPECT_FALSE(drafter->skip_sets()->wants_refresh(32));
  drafter->begin({{}, cosines}, 12);  // a new text counts anew, from its own prompt's set
  EXPECT_EQ(set(), "attn:1,3,5");
  EXPECT_FALSE(drafter->skip_sets()->wants_refresh(9));
  EXPECT_TRUE(drafter->skip_sets()->wants_refresh(10));
}

TEST(Asd, RefreshIsOffByDefaultAndNeedsSomethingToMeasure) {
  const auto drafter = make_drafter("asd");
  drafter->begin({{}, cosines}, 12);
  EXPECT_FALSE(drafter->skip_sets()->wants_refresh(1u << 30));
  EXPECT_TRUE(contains(error_of("asd:cs=0,refresh=8"), "refresh=8 has nothing to measure with cs=0"));
  EXPECT_TRUE(contains(error_of("asd:refresh=-1"), "drafter asd: "));
  EXPECT_TRUE(contains(error_of("asd:refresh=x"), "drafter asd: "));
  EXPECT_TRUE(contains(error_of("asd:refresh=2.5"), "drafter asd: "));
  EXPECT_TRUE(contains(error_of("asd:refresh=1048577"), "drafter asd: "));
}

TEST(Asd, DecodesPlainlyWhereNothingIsSkipped) {
  const auto drafter = make_drafter("asd:rule1=0,c=1");
  drafter->begin({{}, std::vector<float>(12, 0.9f)}, 12);
  EXPECT_TRUE(std::holds_alternative<NoDrafts>(drafter->propose({})));
  EXPECT_EQ(drafter->report().plan, "");
}

TEST(Asd, ThresholdOutlivesAPrompt) {
  const auto drafter = make_drafter("asd:gamma=0.5,eps=0.5,b2=0");
  drafter->begin({{}, cosines}, 12);
  drafter->observe({4, 0, 12, {}, {}});  // nothing accepted: the threshold becomes 1
  drafter->begin({{}, cosines}, 12);
  EXPECT_EQ(test::passes_of(drafter->propose({})).least_probability, 1.0);
}

TEST(Registry, EveryDrafterTakesItsPrintedDefaults) {
  std::vector<std::string> names;
  for (const DrafterInfo& info : drafters()) {
    names.emplace_back(info.name);
    const std::string name(info.name);
    EXPECT_EQ(make_drafter(name)->name(), name);
    EXPECT_EQ(make_drafter(name + ":" + std::string(info.options))->name(), name);
    EXPECT_FALSE(info.summary.empty());
    EXPECT_EQ(info.lossless, info.name != "sequential");
  }
  EXPECT_EQ(names, (std::vector<std::string>{"none", "asd", "exit", "skip", "experts", "mtp", "auto", "sequential", "lookup", "suffix",
                                             "grammar", "copy", "jacobi", "lookahead", "ngram", "recycle", "model", "window"}));
}

TEST(Registry, PrintedDefaultsAreTheDefaults) {
  const AsdParams params;
  const std::string text(drafters()[1].options);
  const auto value = [&](const std::string& key) {
    const auto at = ("," + text).find("," + key + "=");
    return std::stod(text.substr(at + key.size() + 1));
  };
  EXPECT_EQ(value("c"), params.c);
  EXPECT_EQ(value("n"), params.n);
  EXPECT_EQ(value("m"), params.m);
  EXPECT_EQ(value("k"), params.drafts.max_drafts);
  EXPECT_EQ(value("gamma"), params.drafts.stop.gamma);
  EXPECT_EQ(value("eps"), params.drafts.stop.epsilon);
  EXPECT_EQ(value("alpha"), params.drafts.stop.alpha);
  EXPECT_EQ(value("b1"), params.drafts.stop.beta1);
  EXPECT_EQ(value("b2"), params.drafts.stop.beta2);
  EXPECT_EQ(value("adaptive"), params.drafts.stop.adaptive ? 1 : 0);
  EXPECT_EQ(value("cs"), params.cosine ? 1 : 0);
  EXPECT_EQ(value("rule1"), params.rule1 ? 1 : 0);
  EXPECT_EQ(value("rule2"), params.rule2 ? 1 : 0);
  EXPECT_EQ(value("refresh"), params.refresh);
}

TEST(Registry, ErrorsSayWhatWouldBeRight) {
  EXPECT_TRUE(
      contains(error_of("eagle"),
               "no drafter 'eagle'; there are none, asd, exit, skip, experts, mtp, auto, sequential, lookup, suffix, grammar, copy, "
               "jacobi, lookahead, ngram, recycle,"));
  EXPECT_TRUE(contains(error_of(""), "there are none, asd, exit, skip, experts, mtp, auto, sequential"));
  EXPECT_TRUE(contains(error_of("asd:q=1"),
                       "no option q; the options are c, n, m, k, gamma, eps, alpha, b1, b2, adaptive, cs, rule1, rule2, reuse, refresh"));
  EXPECT_TRUE(contains(error_of("none:k=1"), "takes none"));
  EXPECT_TRUE(contains(error_of("asd:n=0"), "rule1=0"));
  EXPECT_TRUE(contains(error_of("asd:c=0.9,c=0.8"), "given twice"));
  EXPECT_TRUE(contains(error_of("asd:c=2"), "number from -1 to 1"));
  for (const char* options : {"c",       "=1",      "c=",           "c=x",           "c=nan",  "c=0.9x",     "c= 0.9",    "n=-1",
                              "n=1.5",   "n=257",   "m=257",        "m=99999999999", "k=0",    "gamma=1.1",  "eps=-1",    "alpha=2",
                              "b1=-0.1", "b2=1.01", "adaptive=yes", "cs=2",          "rule1=", "rule2=true", "c=0.9,,n=3"}) {
    EXPECT_TRUE(contains(error_of(std::string("asd:") + options), "drafter asd: ")) << options;
  }
  EXPECT_TRUE(error_of("asd:").empty());
}

}  // namespace
}  // namespace skipstone::speculation
