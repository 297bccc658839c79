// A drafter for tests that has its tokens from the fake model itself.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "speculation/drafter.h"
#include "unit/fake_sequence.h"

namespace skipstone::speculation::test {

/// Proposes tokens that are there already, right ones as a rule, and also what a careless drafter might: too many, or no tokens at all.
class TokenDrafter final : public Drafter {
 public:
  TokenDrafter(const FakeModel& model, std::uint32_t length, double skill) : model_(model), length_(length), skill_(skill) {}
  std::string name() const override { return "tokens"; }
  void begin(const Prefilled&, std::uint32_t) override { ++prompts; }
  Proposal propose(std::span<const Token> history) override {
    TreeProposal proposal;
    std::vector<Token> text(history.begin(), history.end());
    for (std::uint32_t i = 0; i < length_; ++i) {
      const double luck = FakeModel::unit(model_.hash(text) ^ 0x77);
      const Token next = model_.target(text).token;
      text.push_back(luck < skill_ ? next : luck < 0.97 ? (next + 1) % static_cast<Token>(model_.vocabulary) : -1);
      proposal.tree.add(proposal.tree.drafts(), text.back());
      if (text.back() < 0) break;
    }
    return proposal;
  }
  void observe(const RoundResult& result) override {
    EXPECT_EQ(result.drafts.size(), result.drafted);
    EXPECT_EQ(result.verified.size(), result.drafted + 1);
    EXPECT_LE(result.accepted, result.drafted);
    EXPECT_LE(result.drafted, result.limit);
    for (std::uint32_t i = 0; i < result.accepted; ++i) EXPECT_EQ(result.drafts[i].token, result.verified[i].token);
    if (result.accepted < result.drafted) {
      EXPECT_NE(result.drafts[result.accepted].token, result.verified[result.accepted].token);
    }
    rounds.push_back({result.drafted, result.accepted});
  }

  int prompts = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> rounds;

 private:
  FakeModel model_;
  std::uint32_t length_;
  double skill_;
};

}  // namespace skipstone::speculation::test
