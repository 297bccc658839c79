#include "speculation/synthetic_acceptance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/status.h"
#include "speculation/loop.h"
#include "speculation/registry.h"
#include "unit/fake_sequence.h"
#include "unit/token_drafter.h"

namespace skipstone::speculation {
namespace {

using test::FakeModel;
using test::FakeSequence;
using test::limits_of;
using test::TokenDrafter;

constexpr std::uint32_t vocabulary = 64, context = 4096;

FakeModel model() {
  FakeModel fake;
  fake.vocabulary = vocabulary;
  fake.memory = 6;
  return fake;
}

/// What comes of `drafter` after a prompt of three tokens; `at_once`: see FakeSequence::rounds_at_once.
Outcome generate_with(Drafter& drafter, const std::vector<double>& probabilities, std::uint32_t tokens, std::uint64_t at_once = 0) {
  FakeSequence fake(model(), context, 32);
  fake.rounds_at_once = at_once;
  SyntheticAcceptance sequence(fake, probabilities, vocabulary);
  const std::vector<Token> prompt = {1, 2, 3};
  Outcome outcome = generate(sequence, drafter, prompt, limits_of(tokens), {});
  EXPECT_EQ(outcome.tokens.size(), tokens);
  // What is in the cache is the text, whatever was made of acceptance.
  std::vector<Token> text = prompt;
  text.insert(text.end(), outcome.tokens.begin(), outcome.tokens.end());
  text.pop_back();
  EXPECT_EQ(fake.cached(), text);
  return outcome;
}

/// Given that the drafts before it were.
double accepted_share(const Stats& stats, std::size_t position) {
  const double before = static_cast<double>(position == 0 ? stats.by_position[0].drafted : stats.by_position[position - 1].accepted);
  return static_cast<double>(stats.by_position[position].accepted) / before;
}

TEST(SyntheticAcceptance, AllOrNothingWhateverTheModelSays) {
  FakeModel other = model();
  other.seed = 9;
  TokenDrafter wrong(other, 5, 1.0), right(model(), 5, 1.0);
  const Outcome all = generate_with(wrong, {1}, 61);
  EXPECT_EQ(all.stats.rounds, 10u);
  EXPECT_EQ(all.stats.accepted, 50u);
  const Outcome none = generate_with(right, {0}, 61);
  EXPECT_EQ(none.stats.rounds, 60u);
  EXPECT_EQ(none.stats.accepted, 0u);
  TokenDrafter once(other, 5, 1.0);
  EXPECT_EQ(generate_with(once, {1, 1, 0}, 61).stats.rounds, 20u);
}

TEST(SyntheticAcceptance, SharesAreThoseThatWereAskedFor) {
  TokenDrafter drafter(model(), 4, 0.5);
  const Stats stats = generate_with(drafter, {0.8, 0.5}, 4000).stats;
  ASSERT_GE(stats.by_position.size(), 4u);
  // Five standard deviations of the number of draws; the last probability holds for the drafts after it.
  const auto expect = [&](std::size_t position, double p) {
    const double draws = static_cast<double>(position == 0 ? stats.rounds : stats.by_position[position - 1].accepted);
    EXPECT_NEAR(accepted_share(stats, position), p, 5 * std::sqrt(p * (1 - p) / draws)) << position;
  };
  ASSERT_GT(stats.rounds, 1000u);
  expect(1, 0.5);
  expect(2, 0.5);
  expect(3, 0.5);
  EXPECT_NEAR(accepted_share(stats, 0), 0.8, 0.06);  // some rounds have no draft in the first place
}

TEST(SyntheticAcceptance, TheSameEachTime) {
  const std::vector<double> p = {0.7};
  TokenDrafter first(model(), 6, 0.3), second(model(), 6, 0.3);
  const Outcome a = generate_with(first, p, 300), b = generate_with(second, p, 300);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(first.rounds, second.rounds);
  EXPECT_GT(a.stats.accepted, 0u);
  EXPECT_LT(a.stats.accepted, a.stats.drafted);
}

TEST(SyntheticAcceptance, PassesThatDraftOnTheHostAndAtOnce) {
  for (const std::uint64_t at_once : {0, 1, 2}) {
    const auto drafter = make_drafter("exit:3,k=4");
    drafter->attach({.layers = 12});
    const Outcome outcome = generate_with(*drafter, {1}, 101, at_once);
    EXPECT_EQ(outcome.stats.rounds, 20u);
    EXPECT_EQ(outcome.stats.device_rounds, at_once == 0 ? 0u : 20u / at_once);
  }
}

/// Two branches, and as a block three rows of which two begin alike.
class Branches final : public Drafter {
 public:
  explicit Branches(bool block) : block_(block) {}
  std::string name() const override { return "branches"; }
  Proposal propose(std::span<const Token>) override {
    if (block_) return BlockProposal{{{10, 11, 12}, {10, 21}, {30, 31}}};
    TreeProposal proposal;
    const std::uint32_t first = proposal.tree.add(0, 10);
    proposal.tree.add(0, 20);
    const std::uint32_t second = proposal.tree.add(first, 11);
    proposal.tree.add(first, 21);
    proposal.tree.add(second, 12);
    return proposal;
  }

 private:
  bool block_;
};

TEST(SyntheticAcceptance, OfTreesTheFirstChildrenAndOfBlocksTheFirstRow) {
  for (const bool block : {false, true}) {
    Branches drafter(block);
    const Outcome outcome = generate_with(drafter, {1}, 41);
    EXPECT_EQ(outcome.stats.rounds, 10u);
    EXPECT_EQ(std::vector<Token>(outcome.tokens.begin() + 1, outcome.tokens.begin() + 4), (std::vector<Token>{10, 11, 12}));
    EXPECT_EQ(generate_with(drafter, {1, 0}, 41).stats.rounds, 20u);
    EXPECT_EQ(generate_with(drafter, {0}, 41).stats.rounds, 40u);
    EXPECT_GT(generate_with(drafter, {0.5}, 400).stats.accepted, 100u);
  }
}

TEST(SyntheticAcceptance, RefusesWhatAreNoProbabilities) {
  for (const std::vector<double>& wrong : {std::vector<double>{}, {1.1}, {0.5, -0.1}, {std::nan("")}, std::vector<double>(32, 0.5)}) {
    EXPECT_THROW(check_synthetic_acceptance(wrong), Error);
  }
  EXPECT_NO_THROW(check_synthetic_acceptance(std::vector<double>(31, 1.0)));
}

}  // namespace
}  // namespace skipstone::speculation
