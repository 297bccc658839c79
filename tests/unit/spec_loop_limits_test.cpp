// What the loop counts, and where it ends a text: each case by hand.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/status.h"
#include "speculation/loop.h"
#include "speculation/registry.h"
#include "unit/fake_sequence.h"
#include "unit/token_drafter.h"

namespace skipstone::speculation {
namespace {

using test::decode_plainly;
using test::FakeModel;
using test::FakeSequence;
using test::limits_of;
using test::TokenDrafter;

/// A model and a prompt whose next `length` tokens are all different from each other, so that one of them can be made an end token.
std::pair<FakeModel, std::vector<Token>> distinct_text(std::size_t length) {
  FakeModel model;
  model.vocabulary = 500;
  for (model.seed = 1;; ++model.seed) {
    const auto tokens = decode_plainly(model, {1}, 1000, static_cast<std::uint32_t>(length), {}, 0).tokens;
    if (std::set<Token>(tokens.begin(), tokens.end()).size() == length) return {model, tokens};
  }
}

TEST(Generate, CountsRoundsAndPositionsExactly) {
  const auto [model, text] = distinct_text(11);
  FakeSequence sequence(model, 100, 16);
  TokenDrafter drafter(model, 4, 1.0);
  const std::vector<Token> prompt = {1};
  const Outcome outcome = generate(sequence, drafter, prompt, limits_of(13), {});
  EXPECT_EQ(outcome.tokens.size(), 13u);
  // 1 of the prompt's pass, then 5 and 5, then 2: the last round has room for one draft only.
  EXPECT_EQ(outcome.stats.rounds, 3u);
  EXPECT_EQ(outcome.stats.drafted, 9u);
  EXPECT_EQ(outcome.stats.accepted, 9u);
  ASSERT_EQ(outcome.stats.by_position.size(), 4u);
  EXPECT_EQ(outcome.stats.by_position[0].drafted, 3u);
  EXPECT_EQ(outcome.stats.by_position[1].drafted, 2u);
  EXPECT_EQ(outcome.stats.by_position[3].accepted, 2u);
  EXPECT_DOUBLE_EQ(outcome.stats.acceptance(), 1.0);
  EXPECT_DOUBLE_EQ(outcome.stats.tokens_per_round(), 13.0 / 3);
  EXPECT_EQ(outcome.stats.drafter, "tokens");
  EXPECT_EQ(outcome.stats.sublayers, 24u);
  EXPECT_EQ(sequence.verifications, 3u);
}

TEST(Generate, ARejectedDraftIsCountedAndTheRestIsNotEmitted) {
  FakeModel model;
  FakeSequence sequence(model, 100, 16);
  TokenDrafter drafter(model, 3, 0.0);  // always wrong
  const std::vector<Token> prompt = {3, 4};
  const Outcome outcome = generate(sequence, drafter, prompt, limits_of(6), {});
  EXPECT_EQ(outcome.tokens, decode_plainly(model, prompt, 100, 6, {}, 0).tokens);
  EXPECT_EQ(outcome.stats.rounds, 5u);
  EXPECT_EQ(outcome.stats.accepted, 0u);
  for (const auto& round : drafter.rounds) EXPECT_EQ(round.second, 0u);
}

TEST(Generate, EndsInTheMiddleOfAnAcceptedRunAndDraftsNoFurther) {
  const auto [perfect, text] = distinct_text(10);
  FakeModel model = perfect;
  model.agreement = 1.0;
  const std::set<Token> ends = {text[4]};
  FakeSequence sequence(model, 100, 16);
  const auto drafter = make_drafter("asd:k=8,gamma=0,adaptive=0");
  const std::vector<Token> prompt = {1};
  const Outcome outcome = generate(sequence, *drafter, prompt, limits_of(50, ends), {});
  EXPECT_EQ(outcome.stop, StopReason::end_token);
  EXPECT_EQ(outcome.tokens, std::vector<Token>(text.begin(), text.begin() + 4));
  EXPECT_EQ(sequence.draft_calls, 4u);  // text[1] to text[4]; the end token is kept, and nothing is drafted after it
  EXPECT_EQ(outcome.stats.rounds, 1u);
  EXPECT_EQ(outcome.stats.drafted, 4u);
  EXPECT_EQ(outcome.stats.accepted, 4u);
  EXPECT_EQ(sequence.committed(), 4u);  // the prompt and text[0..2]; text[3] is pending
  EXPECT_EQ(outcome.stats.plan, drafter->report().plan);
  EXPECT_GT(outcome.stats.skipped_sublayers, 0u);
}

TEST(Generate, TokensProposedBehindAnEndTokenAreDropped) {
  const auto [model, text] = distinct_text(10);
  FakeSequence sequence(model, 100, 16);
  TokenDrafter drafter(model, 8, 1.0);
  const std::vector<Token> prompt = {1};
  const Outcome outcome = generate(sequence, drafter, prompt, limits_of(50, {text[3]}), {});
  EXPECT_EQ(outcome.stop, StopReason::end_token);
  EXPECT_EQ(outcome.tokens, std::vector<Token>(text.begin(), text.begin() + 3));
  EXPECT_EQ(drafter.rounds, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{3, 3}}));
}

TEST(Generate, NothingIsDraftedThatCouldNotBeEmitted) {
  FakeModel model;
  model.agreement = 1.0;
  const auto calls = [&](std::uint32_t context, std::uint32_t max_rows, std::uint32_t max_tokens) {
    FakeSequence sequence(model, context, max_rows);
    const auto drafter = make_drafter("asd:gamma=0,adaptive=0");
    const std::vector<Token> prompt = {1, 2, 3};
    const Outcome outcome = generate(sequence, *drafter, prompt, limits_of(max_tokens), {});
    EXPECT_EQ(outcome.tokens, decode_plainly(model, prompt, context, max_tokens, {}, 0).tokens);
    return sequence.draft_calls;
  };
  EXPECT_EQ(calls(100, 16, 1), 0u);  // prefill's own token
  EXPECT_EQ(calls(100, 16, 2), 0u);
  EXPECT_EQ(calls(100, 16, 3), 1u);
  EXPECT_EQ(calls(100, 16, 14), 12u);  // K = 12
  EXPECT_EQ(calls(100, 1, 5), 0u);
  EXPECT_EQ(calls(100, 2, 5), 2u);
  EXPECT_EQ(calls(6, 16, 50), 1u);  // three tokens fit: one of prefill, a draft, and one of the model's own
}

TEST(Generate, TheContextCountsEveryToken) {
  FakeModel model;
  const std::vector<Token> prompt = {1, 2, 3};
  const auto drafter = make_drafter("none");
  for (std::uint32_t context = 3; context < 8; ++context) {
    FakeSequence sequence(model, context, 4);
    const Outcome outcome = generate(sequence, *drafter, prompt, limits_of(50), {});
    EXPECT_EQ(outcome.tokens.size(), context - 3);
    EXPECT_EQ(outcome.stop, StopReason::context_full);
  }
  FakeSequence small(model, 2, 4);
  EXPECT_THROW(generate(small, *drafter, prompt, limits_of(5), {}), Error);
}

TEST(Generate, NoTokensAreAskedForAndNoneAreNew) {
  FakeModel model;
  FakeSequence sequence(model, 10, 4);
  TokenDrafter drafter(model, 2, 1.0);
  const std::vector<Token> prompt = {1, 2, 3};
  const Outcome nothing = generate(sequence, drafter, prompt, limits_of(0), {});
  EXPECT_TRUE(nothing.tokens.empty());
  EXPECT_EQ(nothing.stop, StopReason::max_tokens);
  EXPECT_EQ(sequence.committed(), 0u);
  EXPECT_EQ(nothing.stats.acceptance(), 0.0);
  EXPECT_EQ(nothing.stats.tokens_per_round(), 0.0);
  const std::set<Token> ends = {model.target(prompt).token};
  const Outcome ended = generate(sequence, drafter, prompt, limits_of(5, ends), {});
  EXPECT_EQ(ended.stop, StopReason::end_token);
  EXPECT_EQ(sequence.committed(), 3u);
  EXPECT_EQ(drafter.prompts, 1);
  EXPECT_THROW(generate(sequence, drafter, prompt, limits_of(5), {}), Error);  // all of it is read already
  EXPECT_THROW(generate(sequence, drafter, {}, limits_of(5), {}), Error);
}

TEST(Generate, AModelThatGivesNoNumberIsAnError) {
  class Broken final : public Sequence {
   public:
    SequenceLimits limits() const override { return {.layers = 2, .context = 10, .rows = 2}; }
    std::uint32_t committed() const override { return 0; }
    Prefilled prefill(std::span<const Token>, bool) override { return {}; }
    Choice draft(const DraftSource&, Token, std::uint32_t) override { return {}; }
    void verify(const TokenTree&, std::uint32_t, Verified&) override {}
    void commit(std::span<const std::uint32_t>) override {}
    void rollback(std::uint32_t) override {}
  } sequence;
  const std::vector<Token> prompt = {1};
  try {
    generate(sequence, *make_drafter("none"), prompt, limits_of(3), {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::internal);
  }
}

}  // namespace
}  // namespace skipstone::speculation
