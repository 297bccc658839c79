// Choices from made-up results, without a device.
#include "engine/verifier.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace skipstone::engine {
namespace {

using speculation::Choice;
using speculation::Token;
using speculation::TokenHistory;
using speculation::TokenTree;

constexpr std::uint32_t vocabulary = 8;

/// Rows that prefer token 2 * row + 1, and say so in each form.
class MadeUpResults final : public RowResults {
 public:
  explicit MadeUpResults(std::uint32_t rows) {
    for (std::uint32_t row = 0; row < rows; ++row) {
      abi::RowResult& result = results_.emplace_back();
      result.token = (2 * row + 1) % vocabulary;
      result.probability = 0.5f;
      logits_.emplace_back(vocabulary, 0.0f)[(2 * row + 1) % vocabulary] = 3.0f;
    }
  }
  const abi::RowResult& result(std::uint32_t row) override { return results_.at(row); }
  const abi::CandidateResult* candidates(std::uint32_t) override { return nullptr; }
  std::span<const float> logits(std::uint32_t row) override { return logits_.at(row); }

 private:
  std::vector<abi::RowResult> results_;
  std::vector<std::vector<float>> logits_;
};

TokenHistory text_of(std::vector<Token> committed) {
  const std::size_t size = committed.size();
  return {std::move(committed), size, {}};
}

TEST(Verifier, TakesTheDevicesChoiceOrTheSamplers) {
  MadeUpResults results(3);
  TokenHistory text = text_of({0, 0});
  const std::vector<Token> rows = {4, 1, 3};
  Batch batch{.rows = rows};
  Verifier greedy({}, sample::Verification::coupled, 0), sampled({.temperature = 1.0f, .top_k = 1}, sample::Verification::coupled, 0);
  EXPECT_EQ(greedy.output(), exec::Output::argmax);
  EXPECT_EQ(sampled.output(), exec::Output::logits);
  // In any order, and as often as one likes.
  for (const std::uint32_t row : {2u, 0u, 1u, 0u}) {
    for (Verifier* verifier : {&greedy, &sampled}) {
      EXPECT_EQ(verifier->verify(text, batch, row, results).token, static_cast<Token>(2 * row + 1));
      EXPECT_EQ(verifier->choose(text, batch, row, results).token, static_cast<Token>(2 * row + 1));
    }
  }
  batch.set(rows, {}, 2);  // the pass has run the last row alone
  EXPECT_EQ(greedy.draft(text, batch, results).token, 1);
  EXPECT_EQ(sampled.draft(text, batch, results).token, 1);
}

// The rule sees the text up to its row: the committed tokens, the row's ancestors and the row; nothing else is left of them.
TEST(Verifier, EachRowFollowsItsAncestors) {
  std::map<std::vector<Token>, int> seen;
  sample::SamplerParams params;
  params.rule = [&](std::span<const float>, std::span<const Token> history) {
    ++seen[{history.begin(), history.end()}];
    return Token{5};
  };
  Verifier verifier(params, sample::Verification::coupled, 0);
  MadeUpResults results(5);
  TokenHistory text = text_of({7, 6});
  text.append(1);
  TokenTree tree(1);
  const std::uint32_t left = tree.add(0, 2), right = tree.add(0, 3);
  tree.add(left, 4);
  tree.add(right, 4);
  const Batch batch{.rows = tree.tokens(), .parents = tree.parents()};
  for (std::uint32_t row = 0; row < tree.rows(); ++row) EXPECT_EQ(verifier.verify(text, batch, row, results).token, 5);
  for (const std::vector<Token>& history : {std::vector<Token>{7, 6, 1}, {7, 6, 1, 2}, {7, 6, 1, 3}, {7, 6, 1, 2, 4}, {7, 6, 1, 3, 4}}) {
    EXPECT_EQ(seen[history], 1) << history.size();
  }
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_EQ(text.tokens(), (std::vector<Token>{7, 6, 1}));
}

TEST(Verifier, RequestsAreOnePerRowOrNone) {
  const sample::SamplerParams penalised{.temperature = 0.8f, .top_k = 20, .repeat_penalty = 1.2f};
  Verifier verifier(penalised, sample::Verification::coupled, vocabulary), whole(penalised, sample::Verification::coupled, 0);
  TokenHistory text = text_of({1, 2, 1});
  const std::vector<Token> rows = {3, 4, 5};
  Batch batch{.rows = rows};
  verifier.request(text, batch);
  ASSERT_EQ(batch.requests.rows().size(), 3u);
  EXPECT_EQ(batch.requests.rows()[0].listed, 3u);  // 1, 2 and 3
  EXPECT_EQ(batch.requests.rows()[2].listed, 5u);
  EXPECT_EQ(verifier.output(batch), exec::Output::candidates);
  whole.request(text, batch);
  EXPECT_TRUE(batch.requests.rows().empty());
  EXPECT_EQ(whole.output(batch), exec::Output::logits);
}

TEST(Verifier, LogitsThatAreNoNumbersAreNoDraft) {
  class Broken final : public RowResults {
   public:
    const abi::RowResult& result(std::uint32_t) override { return result_; }
    const abi::CandidateResult* candidates(std::uint32_t) override { return nullptr; }
    std::span<const float> logits(std::uint32_t) override { return logits_; }

   private:
    abi::RowResult result_{};
    std::vector<float> logits_ = std::vector<float>(vocabulary, std::numeric_limits<float>::quiet_NaN());
  } broken;
  Verifier verifier({.temperature = 1.0f}, sample::Verification::coupled, 0);
  TokenHistory text = text_of({1});
  const std::vector<Token> rows = {2};
  EXPECT_EQ(verifier.draft(text, {.rows = rows}, broken).token, -1);
  EXPECT_THROW(verifier.verify(text, {.rows = rows}, 0, broken), Error);
}

}  // namespace
}  // namespace skipstone::engine
