// Suffix array, corpus and suffix automaton against brute force.
#include "speculation/text_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "speculation/corpus.h"
#include "speculation/suffix_automaton.h"
#include "unit/naive_text.h"

namespace skipstone::speculation {
namespace {

using test::ends_of;
using test::repetitive_text;
using test::sorted;
using Places = std::vector<std::uint32_t>;
using Text = std::span<const Token>;

TEST(SuffixArray, IsTheSortedSuffixes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<Token> text = repetitive_text(random, random() % 80);
    if (i % 3 == 0 && !text.empty()) text[random() % text.size()] = -1;
    if (i % 5 == 0 && !text.empty()) text[random() % text.size()] = 300000;
    Places expected(text.size());
    std::iota(expected.begin(), expected.end(), 0u);
    std::ranges::sort(expected, [&](std::uint32_t a, std::uint32_t b) {
      return std::ranges::lexicographical_compare(Text(text).subspan(a), Text(text).subspan(b));
    });
    ASSERT_EQ(suffix_array(text), expected) << "case " << i;
  }
}

TEST(SuffixArray, LoopsOfAnyPeriodAndATextOfManyTokens) {
  for (std::size_t period = 1; period < 20; ++period) {
    std::vector<Token> text(1000);
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<Token>(i % period * 7 % 5);
    const Places order = suffix_array(text);
    for (std::size_t i = 1; i < order.size(); ++i) {
      ASSERT_TRUE(std::ranges::lexicographical_compare(Text(text).subspan(order[i - 1]), Text(text).subspan(order[i]))) << period;
    }
  }
  std::mt19937_64 random(2);
  const std::vector<Token> text = repetitive_text(random, 200000);
  const Places order = suffix_array(text);
  Places places = sorted(order);
  for (std::uint32_t i = 0; i < places.size(); ++i) ASSERT_EQ(places[i], i);
  for (std::size_t i = 1; i < order.size(); i += 97) {
    ASSERT_TRUE(std::ranges::lexicographical_compare(Text(text).subspan(order[i - 1]), Text(text).subspan(order[i])));
  }
}

/// The longest end of `query`, at most `most` long, that occurs in `text` (of which it is no part).
std::uint32_t longest_by_search(Text query, Text text, std::uint32_t most) {
  for (auto length = static_cast<std::uint32_t>(std::min<std::size_t>(most, query.size())); length > 0; --length) {
    if (!ends_of(query.last(length), text).empty()) return length;
  }
  return 0;
}

TEST(Corpus, FindsTheLongestMatchAndAllItsPlaces) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1500; ++i) {
    std::vector<Token> text = repetitive_text(random, random() % 120 + 1);
    if (i % 2 == 0) text[random() % text.size()] = -1;
    const Corpus corpus(text);
    const std::vector<Token> query = repetitive_text(random, random() % 20 + 1);
    const auto most = static_cast<std::uint32_t>(random() % 12 + 1);
    const Corpus::Match match = corpus.longest_match(query, most);
    ASSERT_EQ(match.length, longest_by_search(query, text, most));
    if (match.length == 0) {
      EXPECT_TRUE(corpus.continuations(match, 64).empty());
      continue;
    }
    Places expected = ends_of(Text(query).last(match.length), text);
    EXPECT_EQ(match.count(), expected.size());
    std::erase_if(expected, [&](std::uint32_t place) { return place == text.size() || text[place] < 0; });
    EXPECT_EQ(sorted(corpus.continuations(match, 1000)), expected);
    const Places some = corpus.continuations(match, 3);
    EXPECT_LE(some.size(), 3u);
    for (const std::uint32_t place : some) EXPECT_TRUE(std::ranges::binary_search(expected, place));
  }
}

TEST(Corpus, MissesNoFrequentContinuationAmongMany) {
  // 7 continues with 1 in 60 of 100 places, with 2 in 30, with all different tokens in the others.
  std::vector<Token> text;
  for (int i = 0; i < 100; ++i) {
    text.push_back(7);
    text.push_back(i % 10 < 6 ? 1 : i % 10 < 9 ? 2 : 100 + i);
  }
  const Corpus corpus(text);
  const Corpus::Match match = corpus.longest_match(std::vector<Token>{9, 7}, 32);
  ASSERT_EQ(match.count(), 100u);
  std::map<Token, int> seen;
  for (const std::uint32_t place : corpus.continuations(match, 10)) ++seen[text[place]];
  EXPECT_EQ(seen[1], 6);
  EXPECT_EQ(seen[2], 3);
}

TEST(Corpus, NoMatchReachesOverTheEndOfAText) {
  const Corpus corpus({1, 2, 3, -1, 4, 5});
  EXPECT_EQ(corpus.longest_match(std::vector<Token>{3, 4}, 8).length, 1u);
  EXPECT_TRUE(corpus.continuations(corpus.longest_match(std::vector<Token>{2, 3}, 8), 8).empty());
  EXPECT_EQ(corpus.longest_match(std::vector<Token>{1, 2}, 8).length, 2u);
  EXPECT_EQ(corpus.longest_match({}, 8).length, 0u);
  EXPECT_EQ(Corpus({}).longest_match(std::vector<Token>{1}, 8).length, 0u);
  EXPECT_EQ(corpus.bytes(), 6 * 8u);
}

TEST(SuffixAutomaton, IsBruteForceAfterEveryToken) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 300; ++i) {
    const std::vector<Token> text = repetitive_text(random, random() % 100);
    SuffixAutomaton automaton;
    EXPECT_EQ(automaton.match_length(), 0u);
    for (std::size_t size = 1; size <= text.size(); ++size) {
      automaton.append(text[size - 1]);
      const Text so_far = Text(text).first(size);
      std::uint32_t longest = 0;
      while (longest + 1 < size && ends_of(so_far.last(longest + 1), so_far).size() > 1) ++longest;
      ASSERT_EQ(automaton.match_length(), longest) << "case " << i << ", " << size << " tokens";
      Places expected;
      if (longest > 0) expected = ends_of(so_far.last(longest), so_far);
      if (!expected.empty()) expected.pop_back();  // the end itself
      ASSERT_EQ(sorted(automaton.continuations(1000)), expected);
      const Places some = automaton.continuations(2);
      EXPECT_EQ(some.size(), std::min<std::size_t>(2, expected.size()));
      for (const std::uint32_t place : some) EXPECT_TRUE(std::ranges::binary_search(expected, place));
    }
  }
}

TEST(SuffixAutomaton, TakesLongTextsOfAnyKind) {
  std::mt19937_64 random(5);
  const auto length_after = [](const std::vector<Token>& text) {
    SuffixAutomaton automaton;
    for (const Token token : text) automaton.append(token);
    return automaton.match_length();
  };
  EXPECT_EQ(length_after(std::vector<Token>(100000, 3)), 99999u);
  std::vector<Token> different(100000);
  std::iota(different.begin(), different.end(), 0);
  EXPECT_EQ(length_after(different), 0u);
  different.insert(different.end(), different.begin() + 5, different.begin() + 105);
  EXPECT_EQ(length_after(different), 100u);
}

TEST(Occurrences, ChainsEveryPlaceOfAToken) {
  Occurrences occurrences;
  for (const Token token : {4, 7, 4, 4, 9}) occurrences.append(token);
  EXPECT_EQ(occurrences.last(4), 3u);
  EXPECT_EQ(occurrences.before(3), 2u);
  EXPECT_EQ(occurrences.before(2), 0u);
  EXPECT_EQ(occurrences.before(0), Occurrences::none);
  EXPECT_EQ(occurrences.last(5), Occurrences::none);
  EXPECT_EQ(common_end(std::vector<Token>{1, 2, 3}, std::vector<Token>{9, 2, 3}, 8), 2u);
  EXPECT_EQ(common_end(std::vector<Token>{1, 2, 3}, std::vector<Token>{2, 3}, 8), 2u);
  EXPECT_EQ(common_end(std::vector<Token>{1, 2, 3}, std::vector<Token>{1, 2, 3}, 2), 2u);
  EXPECT_EQ(common_end({}, std::vector<Token>{1}, 2), 0u);
}

TEST(TextIndex, FollowsATextAndStartsAnewWithAnother) {
  TextIndex<Occurrences> index;
  const auto text_of = [&](const std::vector<Token>& history) {
    const Text text = index.follow(history).text();
    return std::vector<Token>(text.begin(), text.end());
  };
  const std::vector<Token> one{1, 2}, more{1, 2, 3}, other{1, 5, 3, 4}, shorter{1, 5};
  EXPECT_EQ(text_of(one), one);
  EXPECT_EQ(text_of(more), more);
  index.begin();  // the conversation continues
  EXPECT_EQ(text_of({1, 2, 3, 9}), (std::vector<Token>{1, 2, 3, 9}));
  index.begin();  // a new one
  EXPECT_EQ(text_of(other), other);
  index.begin();
  EXPECT_EQ(text_of(shorter), shorter);
}

}  // namespace
}  // namespace skipstone::speculation
