// Profiles and the state of a search on disk: there and back, and what is refused.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "fixtures/failure.h"
#include "fixtures/temporary_directory.h"
#include "speculation/registry.h"
#include "speculation/search/journal.h"
#include "speculation/search/profile.h"
#include "unit/proposals.h"

namespace skipstone::speculation::search {
namespace {

using exec::LayerPlan;
using fixtures::failure_of;

Profile example() {
  Profile profile;
  profile.model_name = "a model";
  profile.fingerprint = "0123456789abcdef";
  profile.layers = 12;
  profile.skip_set = "attn:3,5-7;mlp:9";
  profile.constants = {5, false, {.gamma = 0.35, .epsilon = 0.02, .alpha = 0.7, .beta1 = 0.25, .beta2 = 0.75, .adaptive = false}};
  profile.expected = {2.5, 1.75, 0.8, 1.31};
  profile.measured = Profile::Measured{1.27, 0.79, 2.4, 8, 2};
  profile.origin = {"bayes", "code.jsonl", "feed", 8, 700, 120, 42, 300.5, "a device", "a driver 1"};
  return profile;
}

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(Profile, ComesBackAsItWas) {
  const fixtures::TemporaryDirectory folder;
  Profile profile = example();
  write_profile(profile, folder.file("p.json"));
  EXPECT_EQ(print(read_profile(folder.file("p.json"))), print(profile));
  profile.measured.reset();
  EXPECT_EQ(print(parse_profile(print(profile), "p")), print(profile));
  EXPECT_FALSE(parse_profile(print(profile), "p").measured);
}

TEST(Profile, RefusesWhatIsNone) {
  const std::string good = print(example());
  const std::string bad[] = {"",
                             "{}",
                             "[1]",
                             "\"skipstone-profile\"",
                             good.substr(0, good.size() / 2),
                             replaced(good, "\"version\": 1", "\"version\": 9"),
                             replaced(good, "\"skip_set\": \"attn:3,5-7;mlp:9\"", "\"skip_set\": \"attn:12\""),
                             replaced(good, "\"skip_set\": \"attn:3,5-7;mlp:9\"", "\"skip_set\": \"full\""),
                             replaced(good, "\"skip_set\": \"attn:3,5-7;mlp:9\"", "\"skip_set\": \"layers:0-3\""),
                             replaced(good, "\"k\": 5", "\"k\": 0"),
                             replaced(good, "\"gamma\": 0.35", "\"gamma\": 1.5"),
                             replaced(good, "\"adaptive\": false", "\"adaptive\": \"no\""),
                             replaced(good, "\"layers\": 12", "\"layers\": 0"),
                             replaced(good, "\"alpha\"", "\"alfa\"")};
  for (const std::string& text : bad) {
    const auto failure = failure_of([&] { parse_profile(text, "some.json"); });
    EXPECT_EQ(failure.code, Code::bad_file) << text;
    EXPECT_NE(failure.message.find("some.json"), std::string::npos) << failure.message;
  }
  EXPECT_EQ(failure_of([] { read_profile("/nowhere/p.json"); }).code, Code::not_found);
  EXPECT_EQ(failure_of([] { read_profile("/"); }).code, Code::bad_file);
}

TEST(Profile, IsWhatTheSkipDrafterTakes) {
  const fixtures::TemporaryDirectory folder;
  const std::string path = folder.file("p.json");
  write_profile(example(), path);
  const ModelFacts model{.layers = 12, .exit_layer = 0, .fingerprint = "0123456789abcdef"};
  const auto drafter = make_drafter("skip:" + path);
  drafter->attach(model);
  const PassProposal proposal = test::passes_of(drafter->propose({}));
  const auto pass = test::source_of<LayerPass>(proposal);
  EXPECT_EQ(pass.plan.print(12), "attn:3,5-7;mlp:9");
  EXPECT_EQ(proposal.length, 5u);
  EXPECT_EQ(proposal.least_probability, 0.35);
  EXPECT_FALSE(pass.keep_prefix);
  EXPECT_EQ(drafter->report().plan, "attn:3,5-7;mlp:9");

  const auto changed = make_drafter("skip:" + path + ",k=2,gamma=0.5,reuse=1");
  changed->attach(model);
  EXPECT_EQ(test::passes_of(changed->propose({})).length, 2u);
  EXPECT_EQ(test::passes_of(changed->propose({})).least_probability, 0.5);
  EXPECT_TRUE(test::layers_of(changed->propose({})).keep_prefix);

  const auto other =
      failure_of([&] { make_drafter("skip:" + path)->attach({.layers = 12, .exit_layer = 0, .fingerprint = "fedcba9876543210"}); });
  EXPECT_EQ(other.code, Code::invalid_argument);
  EXPECT_NE(other.message.find("another model"), std::string::npos);
  EXPECT_EQ(failure_of([&] { make_drafter("skip:" + folder.file("none.json")); }).code, Code::invalid_argument);
  write(path, "{");
  EXPECT_EQ(failure_of([&] { make_drafter("skip:" + path); }).code, Code::invalid_argument);
}

Evaluation evaluation(const std::string& set, double speedup) {
  return {LayerPlan::parse(set, 12), {{4, true, {.gamma = 0.5}}, {2.0, 1.5, 0.7, speedup}}, 0.25};
}

TEST(Journal, GoesOnWhereItStopped) {
  const fixtures::TemporaryDirectory folder;
  const std::string path = folder.file("p.state.json");
  const JournalKey key{"model", "prompts", "device", 8, 96};
  {
    Journal journal(path, key, 12);
    EXPECT_FALSE(journal.costs());
    RoundCosts costs;
    costs.add(1, {1, 2, 3});
    journal.set_costs(costs);
    journal.add(evaluation("attn:3", 1.25));
    journal.add(evaluation("mlp:3-5", 1.5));
    journal.add(evaluation("mlp:3-5", 9.0));  // known
  }
  const Journal again(path, key, 12);
  ASSERT_EQ(again.evaluations().size(), 2u);
  ASSERT_TRUE(again.costs());
  EXPECT_DOUBLE_EQ(again.costs()->at(1).rest, 3);
  const Evaluation* found = again.find(LayerPlan::parse("mlp:3-5", 12));
  ASSERT_NE(found, nullptr);
  EXPECT_DOUBLE_EQ(found->best.expected.speedup, 1.5);
  EXPECT_EQ(found->best.constants.k, 4u);
  EXPECT_DOUBLE_EQ(found->best.constants.stop.gamma, 0.5);
  EXPECT_EQ(again.find(LayerPlan::parse("mlp:3", 12)), nullptr);
}

TEST(Journal, RefusesAnotherSearch) {
  const fixtures::TemporaryDirectory folder;
  const std::string path = folder.file("p.state.json");
  const JournalKey key{"model", "prompts", "device", 8, 96};
  Journal(path, key, 12).add(evaluation("attn:3", 1.25));
  const auto refused = [&](const JournalKey& other, const std::string& words) {
    const auto failure = failure_of([&] { Journal(path, other, 12); });
    EXPECT_EQ(failure.code, Code::invalid_argument);
    EXPECT_NE(failure.message.find(words), std::string::npos) << failure.message;
  };
  refused({"other", "prompts", "device", 8, 96}, "another model");
  refused({"model", "other", "device", 8, 96}, "other prompts");
  refused({"model", "prompts", "other", 8, 96}, "another device");
  refused({"model", "prompts", "device", 7, 96}, "number of prompts");
  refused({"model", "prompts", "device", 8, 64}, "another length");
  write(path, "{}");
  EXPECT_EQ(failure_of([&] { Journal(path, key, 12); }).code, Code::invalid_argument);
  EXPECT_EQ(failure_of([&] { Journal("/nowhere/at/all.json", key, 12).add(evaluation("attn:3", 1)); }).code, Code::io);
}

}  // namespace
}  // namespace skipstone::speculation::search
