// Trees of continuations, and the drafter that proposes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "speculation/corpus.h"
#include "speculation/registry.h"
#include "speculation/suffix_automaton.h"
#include "speculation/token_tree.h"
#include "unit/naive_text.h"
#include "unit/proposals.h"

namespace skipstone::speculation {
namespace {

using test::repetitive_text;
using Text = std::vector<Token>;
using Places = std::vector<std::uint32_t>;

/// Every path from row 0 as its tokens.
std::vector<Text> paths(const TokenTree& tree) {
  std::vector<Text> all(tree.rows());
  for (std::uint32_t row = 1; row < tree.rows(); ++row) {
    all[row] = all[tree.parents()[row]];
    all[row].push_back(tree.tokens()[row]);
  }
  all.erase(all.begin());
  return all;
}

/// How many of the continuations start with each path, by the longest and plainest way.
std::map<Text, std::uint32_t> weights(const Text& text, const Places& places, TextEnd end, std::uint32_t depth) {
  std::map<Text, std::uint32_t> counts;
  for (const std::uint32_t place : places) {
    Text longer = text, path;
    for (std::uint32_t i = 0; i < depth; ++i) {
      if (place + i == longer.size()) {
        if (end == TextEnd::stops) break;
        longer.push_back(path[place + i - text.size()]);  // the text is followed by what was drafted there
      }
      if (longer[place + i] < 0) break;
      path.push_back(longer[place + i]);
      ++counts[path];
    }
  }
  return counts;
}

TEST(ContinuationTree, HasTheHeaviestPathsWithTheirPrefixes) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 1000; ++i) {
    Text text = repetitive_text(random, random() % 60 + 1);
    if (i % 3 == 0) text[random() % text.size()] = -1;
    Places places;
    for (std::uint64_t n = random() % 20; n > 0; --n) places.push_back(static_cast<std::uint32_t>(random() % text.size()));
    const TextEnd end = i % 3 != 0 && random() % 2 == 0 ? TextEnd::repeats : TextEnd::stops;
    const ContinuationLimits limits{static_cast<std::uint32_t>(random() % 20 + 1), static_cast<std::uint32_t>(random() % 8 + 1),
                                    0.25 * static_cast<double>(random() % 3)};
    const TokenTree tree = continuation_tree(text, places, end, limits);
    std::map<Text, std::uint32_t> expected = weights(text, places, end, limits.depth);
    std::erase_if(expected, [&](const auto& path) { return path.second < limits.share * static_cast<double>(places.size()); });
    ASSERT_EQ(tree.drafts(), std::min<std::size_t>(limits.drafts, expected.size()));
    // What is in the tree is as heavy as anything that is not; weights fall in the order of the rows.
    std::uint32_t last = ~0u;
    for (const Text& path : paths(tree)) {
      ASSERT_TRUE(expected.contains(path));
      const std::uint32_t weight = expected[path];
      EXPECT_LE(weight, last);
      last = weight;
      expected.erase(path);
    }
    for (const auto& [path, weight] : expected) EXPECT_LE(weight, last);
  }
}

TEST(ContinuationTree, ByHand) {
  //                0  1  2  3  4  5  6  7  8  9
  const Text text = {1, 2, 5, 1, 2, 6, 1, 2, 5, 1};
  const TokenTree tree = continuation_tree(text, Places{2, 5, 8}, TextEnd::stops, {8, 2, 0.0});
  EXPECT_EQ(paths(tree), (std::vector<Text>{{5}, {5, 1}, {6}, {6, 1}}));
  EXPECT_EQ(paths(continuation_tree(text, Places{2, 5, 8}, TextEnd::stops, {8, 2, 0.5})), (std::vector<Text>{{5}, {5, 1}}));
  EXPECT_EQ(paths(continuation_tree(text, Places{9}, TextEnd::repeats, {3, 8, 0.0})), (std::vector<Text>{{1}, {1, 1}, {1, 1, 1}}));
  EXPECT_EQ(paths(continuation_tree(text, Places{8}, TextEnd::repeats, {3, 8, 0.0})), (std::vector<Text>{{5}, {5, 1}, {5, 1, 5}}));
  EXPECT_EQ(continuation_tree(text, {}, TextEnd::stops, {8, 2, 0.0}).drafts(), 0u);
}

std::vector<Text> proposed(Drafter& drafter, const Text& history) { return paths(test::tree_of(drafter.propose(history))); }

TEST(Suffix, DraftsWhatFollowedTheLongestMatch) {
  const auto drafter = make_drafter("suffix:alpha=2");
  drafter->attach({});
  EXPECT_TRUE(proposed(*drafter, {1, 2, 3}).empty());
  // "2 3" occurred before and continued with 4 5; twice as deep as the match is long.
  EXPECT_EQ(proposed(*drafter, {1, 2, 3, 4, 5, 6, 2, 3}), (std::vector<Text>{{4}, {4, 5}, {4, 5, 6}, {4, 5, 6, 2}}));
  const auto strict = make_drafter("suffix:alpha=2,min=3");
  EXPECT_TRUE(proposed(*strict, {1, 2, 3, 4, 5, 6, 2, 3}).empty());
  const auto few = make_drafter("suffix:alpha=2,k=2");
  EXPECT_EQ(proposed(*few, {1, 2, 3, 4, 5, 6, 2, 3}), (std::vector<Text>{{4}, {4, 5}}));
}

TEST(Suffix, GoesOnInALoop) {
  const auto drafter = make_drafter("suffix:k=6");
  EXPECT_EQ(proposed(*drafter, {8, 1, 2, 1, 2, 1, 2, 1, 2}).back(), (Text{1, 2, 1, 2, 1, 2}));
}

TEST(Suffix, WeighsBranchesByFrequency) {
  const auto drafter = make_drafter("suffix:p=0");
  const Text history = {9, 1, 7, 9, 2, 7, 9, 1, 8, 9};
  EXPECT_EQ(proposed(*drafter, history), (std::vector<Text>{{1}, {2}}));
  EXPECT_EQ(proposed(*make_drafter("suffix:p=0.5"), history), (std::vector<Text>{{1}}));
}

ModelFacts with_corpus(Text tokens) {
  ModelFacts facts;
  facts.corpus = [corpus = std::make_shared<const Corpus>(std::move(tokens))] { return corpus; };
  return facts;
}

TEST(Suffix, LooksInTheCorpusWhereThatMatchesLonger) {
  const auto drafter = make_drafter("suffix:alpha=1");
  drafter->attach(with_corpus({20, 21, 22, 23, 24, 25, -1, 5, 6, 7}));
  EXPECT_EQ(proposed(*drafter, {1, 20, 21}), (std::vector<Text>{{22}, {22, 23}}));
  EXPECT_EQ(proposed(*drafter, {1, 20, 21, 5, 20, 21}), (std::vector<Text>{{5}, {5, 20}}));  // as long in the text itself
  EXPECT_TRUE(proposed(*drafter, {1, 20, 21, 5, 20, 21, 99}).empty());
  EXPECT_TRUE(proposed(*drafter, {1, 20, 21, 5, 20, 21, 99, 7}).empty());  // the corpus ends there
}

TEST(Suffix, ForgetsAnotherConversation) {
  const auto drafter = make_drafter("suffix");
  proposed(*drafter, {1, 2, 3, 4});
  drafter->begin({}, 12);
  EXPECT_TRUE(proposed(*drafter, {5, 3}).empty());
  drafter->begin({}, 12);
  EXPECT_EQ(proposed(*drafter, {5, 3, 6, 3}), (std::vector<Text>{{6}}));
}

}  // namespace
}  // namespace skipstone::speculation
