// The drafters that no pass is made for, in the loop, on texts that repeat themselves.
#include <gtest/gtest.h>

#include <string>

#include "speculation/corpus.h"
#include "speculation/loop.h"
#include "speculation/registry.h"
#include "unit/fake_sequence.h"

namespace skipstone::speculation {
namespace {

using test::decode_plainly;
using test::FakeModel;
using test::FakeSequence;
using Text = std::vector<Token>;

constexpr std::uint32_t length = 300;
const Text prompt = {5, 6, 7};

/// The next token depends on the last two alone, so with 8 of them the text comes back on itself before long.
FakeModel forgetful_model(std::uint64_t seed) {
  FakeModel model;
  model.seed = seed;
  model.vocabulary = 8;
  model.memory = 2;
  return model;
}

Outcome generate_with(const FakeModel& model, Drafter& drafter) {
  FakeSequence sequence(model, 400, 32);
  return generate(sequence, drafter, prompt, {length, {}}, {});
}

TEST(FreeDrafters, AreAcceptedWhereTheTextRepeatsItself) {
  for (const char* specification : {"lookup", "suffix", "suffix:k=31,alpha=4", "lookahead", "lookup:min=2+suffix+jacobi"}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const FakeModel model = forgetful_model(seed);
      const auto drafter = make_drafter(specification);
      const Outcome outcome = generate_with(model, *drafter);
      ASSERT_EQ(outcome.tokens, decode_plainly(model, prompt, 400, length, {}, 0).tokens) << specification << ", seed " << seed;
      EXPECT_GT(outcome.stats.tokens_per_round(), 1.5) << specification << ", seed " << seed;
    }
  }
}

TEST(FreeDrafters, ADocumentAndACorpusOfTheTextItselfAreAcceptedAtOnce) {
  FakeModel model;  // never repeats itself
  model.vocabulary = 1000;
  const Text text = decode_plainly(model, prompt, 400, length, {}, 0).tokens;
  ModelFacts facts;
  facts.read_text = [&](const std::string&) { return text; };
  facts.corpus = [&] { return std::make_shared<const Corpus>(text); };
  for (const auto& [specification, rounds] : {std::pair{"copy:x,k=31", 12u}, {"suffix:alpha=100,k=31", 12u}, {"copy:x,k=9", 32u}}) {
    const auto drafter = make_drafter(specification, facts);
    const Outcome outcome = generate_with(model, *drafter);
    ASSERT_EQ(outcome.tokens, text);
    EXPECT_LE(outcome.stats.rounds, rounds) << specification;
    EXPECT_GT(outcome.stats.acceptance(), 0.9) << specification;
  }
}

TEST(FreeDrafters, SharesOfAChainAddUp) {
  const FakeModel model = forgetful_model(3);
  const auto drafter = make_drafter("suffix:min=3+asd:k=2,rule1=1+lookup");
  drafter->attach({.layers = 12});
  const Stats stats = generate_with(model, *drafter).stats;
  std::uint64_t rounds = 0, drafted = 0, accepted = 0;
  for (const DrafterShare& share : stats.by_drafter) {
    rounds += share.rounds;
    drafted += share.drafted;
    accepted += share.accepted;
  }
  EXPECT_EQ(rounds, stats.rounds);
  EXPECT_EQ(drafted, stats.drafted);
  EXPECT_EQ(accepted, stats.accepted);
  ASSERT_EQ(stats.by_drafter.size(), 2u);
  EXPECT_EQ(stats.by_drafter[0].name, "asd");
  EXPECT_EQ(stats.by_drafter[1].name, "suffix");
}

}  // namespace
}  // namespace skipstone::speculation
