// Jacobi and lookahead decoding.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "base/status.h"
#include "speculation/drafters/drafters.h"
#include "speculation/drafters/lookahead.h"
#include "speculation/registry.h"
#include "unit/proposals.h"

namespace skipstone::speculation {
namespace {

using Text = std::vector<Token>;
using Model = std::function<Token(const Text&)>;

/// What a pass over the tree after `text` (whose last token is row 0) would say, and what of it is accepted.
struct Pass {
  Pass(const Model& model, const Text& text, const TokenTree& rows) : tree(rows) {
    std::vector<Text> after(tree.rows());
    after[0] = text;
    for (std::uint32_t row = 0; row < tree.rows(); ++row) {
      if (row > 0) {
        after[row] = after[tree.parents()[row]];
        after[row].push_back(tree.tokens()[row]);
      }
      verified.push_back({model(after[row]), 1.0f, 1.0f});
    }
    while (const auto next = tree.child(path.back(), verified[path.back()].token)) path.push_back(*next);
  }
  RoundResult result() const {
    const auto accepted = static_cast<std::uint32_t>(path.size()) - 1;
    return {tree.drafts(), accepted, tree.drafts(), {}, verified, tree, path};
  }
  Text emitted() const {
    Text tokens;
    for (const std::uint32_t row : path) tokens.push_back(verified[row].token);
    return tokens;
  }

  TokenTree tree;
  std::vector<Choice> verified;
  std::vector<std::uint32_t> path{0};
};

/// Runs rounds until `length` tokens are there, checking them against plain decoding; returns the number of rounds.
int rounds_for(Drafter& drafter, const Model& model, std::size_t length) {
  Text text = {1, model({1})}, plain = text;
  while (plain.size() < length) plain.push_back(model(plain));
  drafter.begin({}, 12);
  int rounds = 0;
  for (; text.size() < length; ++rounds) {
    TokenTree tree = test::tree_of(drafter.propose(text));
    tree.set_pending(text.back());
    const Pass pass(model, text, tree);
    const Text emitted = pass.emitted();
    text.insert(text.end(), emitted.begin(), emitted.end());
    drafter.observe(pass.result());
  }
  EXPECT_EQ(Text(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length)), plain);
  return rounds;
}

TEST(Jacobi, GuessesAreWhatThePassSaidBehindTheFirstWrongDraft) {
  const std::vector<Choice> verified = {{10, 1, 1}, {11, 1, 1}, {12, 1, 1}, {13, 1, 1}, {14, 1, 1}};
  const TokenTree tree = TokenTree::chain(9, Text{10, 77, 78, 79});
  const std::vector<std::uint32_t> path = {0, 1};  // 10 is right, 77 should have been 11
  EXPECT_EQ(jacobi_guesses({4, 1, 4, {}, verified, tree, path}), (Text{12, 13, 14}));
  const std::vector<std::uint32_t> whole = {0, 1, 2, 3, 4};
  EXPECT_TRUE(jacobi_guesses({4, 4, 4, {}, verified, tree, whole}).empty());
  EXPECT_TRUE(jacobi_guesses({}).empty());
}

TEST(Jacobi, OfATreeTheFirstBranchCounts) {
  TokenTree tree(9);
  tree.add_path(0, Text{50, 51}, 32);
  tree.add_path(0, Text{10, 20}, 32);
  const std::vector<Choice> verified = {{10, 1, 1}, {30, 1, 1}, {31, 1, 1}, {21, 1, 1}, {22, 1, 1}};
  const std::vector<std::uint32_t> path = {0, 3};
  EXPECT_EQ(jacobi_guesses({4, 1, 4, {}, verified, tree, path}), (Text{22}));
}

TEST(Jacobi, OneIterationWhereOnlyThePositionCounts) {
  // Whatever the guesses are, the first pass gives the right tokens for all places but the last: 8 drafts, then 8 accepted in every round.
  const Model model = [](const Text& text) { return static_cast<Token>(text.size() * 7919 % 1000); };
  EXPECT_EQ(rounds_for(*make_drafter("jacobi:k=8"), model, 2 + 1 + 5 * 9 - 4), 10);
}

TEST(Jacobi, NeverTakesMoreRoundsThanTokens) {
  const Model model = [](const Text& text) { return static_cast<Token>((text.back() * 5 + 3) % 997); };
  EXPECT_LE(rounds_for(*make_drafter("jacobi:k=6"), model, 60), 58);
  // A fixed point stays one: a text of one token over and over is guessed as soon as it is there.
  const Model loop = [](const Text&) { return Token{4}; };
  EXPECT_EQ(rounds_for(*make_drafter("jacobi:k=9"), loop, 2 + 30), 3);
}

TEST(Jacobi, AnyGuessesLeadToThePlainText) {
  const Model model = [](const Text& text) { return static_cast<Token>((text.back() * 31 + static_cast<Token>(text.size()) * 17) % 1000); };
  Text text = {1}, guesses = {500, 501, 502, 503, 504};
  for (int round = 0; round < 40 && !guesses.empty(); ++round) {
    const Pass pass(model, text, TokenTree::chain(text.back(), guesses));
    const std::size_t before = guesses.size();
    guesses = jacobi_guesses(pass.result());
    EXPECT_EQ(guesses.size() + pass.path.size() - 1, before);  // those that were right have become text
    for (const Token token : pass.emitted()) {
      ASSERT_EQ(token, model(text));
      text.push_back(token);
    }
  }
  EXPECT_GE(text.size(), 6u);
}

TEST(NgramPool, KeepsTheLatestOfEachFirstToken) {
  NgramPool pool(2);
  EXPECT_TRUE(pool.after(1).empty());
  pool.add(Text{1, 2, 3});
  pool.add(Text{1, 4, 5});
  pool.add(Text{2, 4, 5});
  EXPECT_EQ(pool.after(1), (std::vector<Text>{{4, 5}, {2, 3}}));
  pool.add(Text{1, 2, 3});  // seen again
  EXPECT_EQ(pool.after(1), (std::vector<Text>{{2, 3}, {4, 5}}));
  pool.add(Text{1, 6, 7});
  EXPECT_EQ(pool.after(1), (std::vector<Text>{{6, 7}, {2, 3}}));
  EXPECT_EQ(pool.after(2), (std::vector<Text>{{4, 5}}));
}

TEST(LookaheadWindow, ColumnsSeeTheTrunkUpToThemselves) {
  LookaheadWindow window({.window = 3, .ngram = 4, .candidates = 1});
  window.fill(Text{5});
  TokenTree tree(5);
  window.add_to(tree);
  EXPECT_LE(tree.rows(), 1u + 2 + 3 * 2);
  EXPECT_EQ(tree.height(), 2u + 2);
  EXPECT_LE((LookaheadParams{.window = 3, .ngram = 4, .candidates = 2}.drafts()), 2u + 6 + 6);
}

TEST(LookaheadWindow, CompletesNgramsOfTheModel) {
  // A token's successor depends on it alone, so every n-gram's last token is the successor of the one before it, and after N - 2 rounds all
  // of its tokens are.
  const auto successor = [](Token token) { return (token * 37 + 11) % 101; };
  const Model model = [&](const Text& text) { return successor(text.back()); };
  const LookaheadParams params{.window = 4, .ngram = 4, .candidates = 1};
  LookaheadWindow window(params);
  Text text = {3, 50, 7};
  for (int round = 0; round < 8; ++round) {
    window.fill(text);
    TokenTree tree(text.back());
    window.add_to(tree);
    const Pass pass(model, text, tree);
    std::vector<Text> ngrams;
    window.advance(pass.result(), ngrams);
    EXPECT_EQ(ngrams.size(), 4u);
    for (const Text& ngram : ngrams) {
      ASSERT_EQ(ngram.size(), 4u);
      EXPECT_EQ(ngram[3], successor(ngram[2]));
    }
    EXPECT_EQ(ngrams[0][0], text.back());
    for (const Token token : pass.emitted()) text.push_back(token);
  }
}

TEST(Lookahead, FindsNgramsThatNoTextHasShown) {
  // With the text's own n-grams left out, what is accepted comes from the window.
  const Model model = [](const Text& text) { return (text.back() * 37 + 11) % 101; };
  const int rounds = rounds_for(*make_drafter("lookahead:w=8,n=3,g=4,prompt=0"), model, 92);
  EXPECT_LT(rounds, 70);
  EXPECT_LT(rounds_for(*make_drafter("lookahead:w=4,n=3,g=4"), model, 302), 200);  // the second time round the text is known
}

TEST(Lookahead, RowsHaveToFit) {
  EXPECT_NO_THROW(make_drafter("lookahead:w=8,n=4,g=2"));  // 7 + 16 + 6
  try {
    make_drafter("lookahead:w=10,n=4,g=2");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("are 35 drafts"), std::string::npos) << error.what();
  }
  EXPECT_THROW(make_drafter("lookahead:n=1"), Error);
  EXPECT_THROW(make_drafter("lookahead:w=31,n=31,g=31"), Error);
}

}  // namespace
}  // namespace skipstone::speculation
