// Chains of drafters, how they are written, and what is left out where that is allowed.
#include <gtest/gtest.h>

#include <string>

#include "base/status.h"
#include "speculation/composite.h"
#include "speculation/controller.h"
#include "speculation/registry.h"

namespace skipstone::speculation {
namespace {

using Text = std::vector<Token>;

struct Log {
  std::string text;
};

/// Writes down what it is asked.
class Scripted final : public Drafter {
 public:
  Scripted(Log& log, std::string name, bool is_good) : good(is_good), log_(log), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  void begin(const Prefilled&, std::uint32_t) override { log_.text += "begin " + name_ + "; "; }
  Proposal propose(std::span<const Token>) override {
    log_.text += "propose " + name_ + "; ";
    TreeProposal proposal;
    if (good) proposal.tree.add(0, 7);
    return proposal;
  }
  void observe(const RoundResult&) override { log_.text += "observe " + name_ + "; "; }
  void watch(const RoundResult&) override { log_.text += "watch " + name_ + "; "; }

  bool good;

 private:
  Log& log_;
  std::string name_;
};

TEST(Chain, TheFirstThatHasSomethingProposesAndTheOthersWatch) {
  Log log;
  auto one = std::make_unique<Scripted>(log, "one", false), two = std::make_unique<Scripted>(log, "two", true),
       three = std::make_unique<Scripted>(log, "three", true);
  Scripted &first = *one, &second = *two, &third = *three;
  std::vector<std::unique_ptr<Drafter>> members;
  members.push_back(std::move(one));
  members.push_back(std::move(two));
  members.push_back(std::move(three));
  Chain chain(std::move(members));
  const auto said = [&] { return std::exchange(log.text, ""); };
  EXPECT_EQ(chain.name(), "one+two+three");
  chain.begin({}, 12);
  EXPECT_EQ(said(), "begin one; begin two; begin three; ");
  EXPECT_EQ(std::get<TreeProposal>(chain.propose(Text{1})).tree.drafts(), 1u);
  EXPECT_EQ(chain.proposer(), "two");
  chain.observe({});
  EXPECT_EQ(said(), "propose one; propose two; watch one; observe two; watch three; ");
  first.good = true;
  chain.propose(Text{1});
  chain.observe({});
  EXPECT_EQ(said(), "propose one; observe one; watch two; watch three; ");
  first.good = second.good = third.good = false;
  EXPECT_FALSE(proposes_something(chain.propose(Text{1})));
  EXPECT_EQ(chain.proposer(), "");
  chain.observe({});
  EXPECT_EQ(said(), "propose one; propose two; propose three; watch one; watch two; watch three; ");
}

/// Writes down what a composite is to pass on, and asks for a trial.
class Curious final : public Drafter, private SkipSetTuner {
 public:
  explicit Curious(Log& log) : log_(log) {}
  std::string name() const override { return "curious"; }
  DrafterTraits traits() const override { return {.top = 3, .branches = true}; }
  Proposal propose(std::span<const Token>) override { return NoDrafts{}; }
  void watch(const RoundResult&) override { log_.text += "watch; "; }
  SkipSetTuner* skip_sets() override { return this; }

 private:
  std::vector<exec::LayerPlan> trials(double) override { return {exec::LayerPlan::full(12)}; }
  void tried(std::span<const std::vector<Choice>>, std::span<const Token>, double) override { log_.text += "tried; "; }
  bool wants_refresh(std::uint64_t) const override { return true; }
  bool refresh(std::span<const float>, std::uint64_t) override {
    log_.text += "refresh; ";
    return true;
  }

  Log& log_;
};

TEST(Composite, PassesOnWhatAMemberOfAMemberIsToSee) {
  const auto one = [](std::unique_ptr<Drafter> member) {
    std::vector<std::unique_ptr<Drafter>> members;
    members.push_back(std::move(member));
    return members;
  };
  Log log;
  for (const bool controlled : {false, true}) {
    auto inner = one(std::make_unique<Curious>(log));
    std::unique_ptr<Drafter> composite;
    if (controlled) {
      composite = std::make_unique<Controller>("auto", std::move(inner), false);
    } else {
      composite = std::make_unique<Chain>(std::move(inner));
    }
    auto members = one(std::make_unique<Scripted>(log, "first", true));
    members.push_back(std::move(composite));
    Chain chain(std::move(members));
    chain.attach({.layers = 12});
    EXPECT_EQ(chain.traits().top, 3u);
    EXPECT_TRUE(chain.traits().branches);
    chain.begin({}, 12);
    chain.propose(Text{1});
    log.text.clear();
    chain.observe({});
    EXPECT_EQ(chain.skip_sets()->trials(1).size(), 1u);
    chain.skip_sets()->tried({}, {}, 0);
    EXPECT_TRUE(chain.skip_sets()->wants_refresh(1));
    EXPECT_TRUE(chain.skip_sets()->refresh({}, 1));
    EXPECT_EQ(log.text, "observe first; watch; tried; refresh; ");
  }
}

TEST(Chain, RecyclingLearnsFromRoundsOfOthers) {
  const TokenTree tree = TokenTree::chain(5, Text{6});
  const std::vector<Token> top = {6, 7, 8, 9};  // after 5: 6, 7; after 6: 8, 9
  RoundResult result{.drafted = 1, .accepted = 0, .limit = 1, .tree = tree};
  result.top = top;
  for (const char* specification : {"suffix+recycle:k=2", "suffix+auto:recycle:k=2", "suffix+auto:lookup,recycle:k=2"}) {
    const auto drafter = make_drafter(specification);
    drafter->attach({.layers = 12});
    drafter->begin({}, 12);
    const Text repeats = {1, 2, 3, 1, 2};
    ASSERT_TRUE(proposes_something(drafter->propose(repeats)));
    ASSERT_EQ(drafter->proposer(), "suffix");
    drafter->observe(result);
    drafter->propose(Text{1, 2, 3, 1, 2, 5});  // suffix has nothing after 5
    EXPECT_NE(drafter->proposer(), "suffix") << specification;
    EXPECT_TRUE(proposes_something(drafter->propose(Text{1, 2, 3, 1, 2, 5}))) << specification;
  }
}

TEST(Chain, DraftsWithAPassAreSomethingGoodToo) {
  const auto drafter = make_drafter("lookup:min=2+asd:c=0.98,k=5+jacobi");
  EXPECT_TRUE(drafter->traits().attention_cosine);
  EXPECT_FALSE(drafter->skip_sets()->wants_refresh(1000)) << "nobody has asked for it";
  EXPECT_EQ(drafter->name(), "lookup+asd+jacobi");
  drafter->attach({.layers = 12});
  drafter->begin({{}, std::vector<float>(12, 0.99f)}, 12);
  EXPECT_EQ(drafter->report().plan, "attn:0-9;mlp:2,5,8");
  EXPECT_GT(drafter->report().skipped_sublayers, 0u);
  EXPECT_EQ(std::get<PassProposal>(drafter->propose(Text{1, 2, 3})).length, 5u);
  EXPECT_EQ(drafter->proposer(), "asd");
  EXPECT_GT(std::get<TreeProposal>(drafter->propose(Text{1, 2, 3, 1, 2})).tree.drafts(), 0u);
  EXPECT_EQ(drafter->proposer(), "lookup");
}

std::string error_of(const std::string& specification) {
  try {
    make_drafter(specification);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// The file that the only `copy` of a specification reads.
std::string file_of(const std::string& specification) {
  std::string read;
  ModelFacts facts;
  facts.layers = 12;
  facts.read_text = [&](const std::string& file) {
    read = file;
    return Text{1};
  };
  make_drafter(specification)->attach(facts);
  return read;
}

TEST(Chain, APlusSeparatesDraftersAndMayStandInAFilesName) {
  EXPECT_EQ(make_drafter("suffix:k=8+asd:c=0.98")->name(), "suffix+asd");
  EXPECT_EQ(make_drafter("lookup+suffix+none")->name(), "lookup+suffix+none");
  EXPECT_EQ(file_of("copy:a+b.txt"), "a+b.txt");
  EXPECT_EQ(file_of("copy:src/c++/asd.txt,k=3+asd"), "src/c++/asd.txt");
  EXPECT_EQ(file_of("suffix+copy:x+y+z+asd:c=0.9"), "x+y+z");
  EXPECT_EQ(file_of("copy:x\\+asd"), "x+asd");
  EXPECT_EQ(file_of("copy:back\\slash"), "back\\slash");
  EXPECT_EQ(make_drafter("copy:x+asd")->name(), "copy+asd");
  EXPECT_NE(error_of("suffix+psychic").find("no drafter 'psychic'"), std::string::npos);
  EXPECT_NE(error_of("suffix:k=8+psychic").find("k=8+psychic"), std::string::npos);
  EXPECT_NE(error_of("suffix+").find("no drafter ''"), std::string::npos);
  EXPECT_NE(error_of("+suffix").find("no drafter ''"), std::string::npos);
  EXPECT_NE(error_of("suffix:k=8+asd:c=2").find("drafter asd: c=2"), std::string::npos);
}

TEST(Chain, IsLosslessWhereAllOfItIs) {
  EXPECT_TRUE(is_lossless("suffix:k=3+asd:c=0.98"));
  EXPECT_TRUE(is_lossless("none"));
  EXPECT_FALSE(is_lossless("suffix+psychic"));
}

TEST(Chain, LeavesOutWhatCannotBeUsedWhereThatIsAllowed) {
  ModelFacts facts;
  facts.layers = 4;
  facts.read_text = [](const std::string& file) -> Text { fail(Code::invalid_argument, "'{}' cannot be read", file); };
  facts.corpus = []() -> std::shared_ptr<const Corpus> { fail(Code::invalid_argument, "no such corpus"); };
  std::vector<std::string> told;
  const auto tell = [&](const std::string& why) { told.push_back(why); };
  EXPECT_EQ(make_drafter("copy:no.txt+lookup+exit:9", facts, tell)->name(), "lookup");
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0], "'no.txt' cannot be read");
  EXPECT_NE(told[1].find("layer 9 is no early exit"), std::string::npos);
  told.clear();
  EXPECT_EQ(make_drafter("suffix:k=40", facts, tell)->name(), "none");
  EXPECT_EQ(make_drafter("suffix+psychic", facts, tell)->name(), "none");
  EXPECT_EQ(told.size(), 3u);
  EXPECT_EQ(make_drafter("lookup", facts, tell)->name(), "lookup");
  EXPECT_EQ(told.size(), 3u);
  for (const char* specification : {"copy:no.txt+lookup", "suffix", "lookup+exit:9", "suffix:k=40", "psychic"}) {
    EXPECT_THROW(make_drafter(specification, facts), Error) << specification;
  }
  facts.corpus = []() -> std::shared_ptr<const Corpus> { fail(Code::out_of_memory, "no memory for it"); };
  EXPECT_EQ(make_drafter("suffix+lookup", facts, tell)->name(), "lookup");
  EXPECT_EQ(told.back(), "no memory for it");
  // What is wrong with the machine is no matter of drafters.
  facts.corpus = []() -> std::shared_ptr<const Corpus> { fail(Code::device_lost, "no device any more"); };
  EXPECT_THROW(make_drafter("suffix", facts, tell), Error);
}

std::string refusal_of(const std::string& specification) {
  try {
    make_drafter(specification);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_FALSE(is_lossless(specification)) << specification;
    return error.what();
  }
  return "";
}

TEST(Specifications, HaveBounds) {
  EXPECT_EQ(refusal_of("asd+copy:" + std::string(1024, 'x')), "the drafter's specification has 1033 bytes; at most 1024 are taken");
  std::string many = "suffix";
  for (int k = 1; k < 8; ++k) many += "+suffix:k=" + std::to_string(k);
  EXPECT_EQ(refusal_of(many), "");
  EXPECT_EQ(refusal_of(many + "+lookup"), "the drafter's specification has 9 members; at most 8 are taken");
  EXPECT_EQ(refusal_of("auto+lookup+auto"), "the drafter's specification has 'auto' twice; each member may be there once");
  EXPECT_EQ(refusal_of("exit:3+exit:7"), "");
  EXPECT_EQ(refusal_of("lookup:min=3+asd+lookup"), "");
}

TEST(Specifications, ListsOfAutoHaveBoundsToo) {
  std::string many = "auto:lookup";
  for (int k = 1; k < 16; ++k) many += ",exit:" + std::to_string(k);
  make_drafter(many);
  EXPECT_THROW(make_drafter(many + ",exit:16"), Error);
  EXPECT_THROW(make_drafter("auto:lookup,exit:2,lookup"), Error);
  EXPECT_THROW(make_drafter("auto:suffix\\+auto"), Error);
  make_drafter("auto:suffix\\+lookup,exit:2");
}

}  // namespace
}  // namespace skipstone::speculation
