#include "speculation/token_tree.h"

#include <gtest/gtest.h>

#include <vector>

namespace skipstone::speculation {
namespace {

using Rows = std::vector<std::uint32_t>;

Rows of(std::span<const std::uint32_t> values) { return {values.begin(), values.end()}; }

TEST(TokenTree, SharesWhatPathsHaveInCommon) {
  TokenTree tree(7);
  const std::vector<Token> one{1, 2, 3}, two{1, 2, 4}, three{5, 2};
  EXPECT_EQ(tree.add_path(0, one, 32), 3u);
  EXPECT_TRUE(tree.is_chain());
  EXPECT_EQ(tree.add_path(0, two, 32), 4u);
  EXPECT_FALSE(tree.is_chain());
  EXPECT_EQ(tree.add_path(0, three, 32), 6u);
  EXPECT_EQ(std::vector<Token>(tree.tokens().begin(), tree.tokens().end()), (std::vector<Token>{7, 1, 2, 3, 4, 5, 2}));
  EXPECT_EQ(of(tree.parents()), (Rows{0, 0, 1, 2, 2, 0, 5}));
  EXPECT_EQ(of(tree.depths()), (Rows{0, 1, 2, 3, 3, 1, 2}));
  EXPECT_EQ(tree.height(), 3u);
  EXPECT_EQ(tree.child(2, 4), 4u);
  EXPECT_EQ(tree.child(2, 2), std::nullopt);
  EXPECT_EQ(tree.child(0, 2), std::nullopt);  // two rows hold a 2, but neither follows row 0
}

TEST(TokenTree, StopsGrowingAtTheMostRows) {
  TokenTree tree(0);
  const std::vector<Token> path{1, 2, 3, 4};
  EXPECT_EQ(tree.add_path(0, path, 3), 2u);
  EXPECT_EQ(tree.rows(), 3u);
  const std::vector<Token> known{1, 2};
  EXPECT_EQ(tree.add_path(0, known, 3), 2u);  // needs no row
}

TEST(TokenTree, OneRowIsAChain) {
  EXPECT_TRUE(TokenTree(3).is_chain());
  EXPECT_EQ(TokenTree(3).height(), 0u);
  const std::vector<Token> drafts{4, 4, 4};
  const TokenTree chain = TokenTree::chain(3, drafts);
  EXPECT_TRUE(chain.is_chain());
  EXPECT_EQ(chain.drafts(), 3u);
}

TEST(TokenTree, PruningLeavesOutWhatCannotBeAccepted) {
  TokenTree tree(0);
  tree.add_path(0, std::vector<Token>{1, 99, 2}, 32);  // 99 ends the text: nothing follows it
  tree.add_path(0, std::vector<Token>{3, -1, 4}, 32);  // no token: nothing follows it either
  tree.add_path(0, std::vector<Token>{5, 6, 7, 8}, 32);
  const auto ends = [](Token token) { return token == 99; };
  const TokenTree whole = tree.pruned(32, 3, ends);
  EXPECT_EQ(std::vector<Token>(whole.tokens().begin(), whole.tokens().end()), (std::vector<Token>{0, 1, 99, 3, 5, 6, 7}));
  EXPECT_EQ(of(whole.parents()), (Rows{0, 0, 1, 0, 0, 4, 5}));
  EXPECT_EQ(tree.pruned(3, 8, ends).rows(), 3u);
  EXPECT_EQ(tree.pruned(32, 0, ends).rows(), 1u);
  EXPECT_EQ(TokenTree(99).pruned(32, 8, ends).rows(), 1u);
  // The pending token has been emitted: that it would end another text changes nothing.
  const std::vector<Token> after{1};
  EXPECT_EQ(TokenTree::chain(99, after).pruned(32, 8, ends).rows(), 2u);
}

}  // namespace
}  // namespace skipstone::speculation
