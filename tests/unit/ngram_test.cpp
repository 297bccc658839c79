// N-Grammys: rows by strategy, the tree of them, the drafter in the loop, as a tree and as a block.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "base/status.h"
#include "speculation/drafters/drafters.h"
#include "speculation/loop.h"
#include "speculation/registry.h"
#include "unit/fake_sequence.h"
#include "unit/naive_text.h"

namespace skipstone::speculation {
namespace {

using test::ends_of;
using test::index_of;
using test::repetitive_text;
using Text = std::vector<Token>;

std::vector<Text> tokens_of(std::span<const NgramRow> rows) {
  std::vector<Text> tokens;
  for (const NgramRow& row : rows) tokens.push_back(row.tokens);
  return tokens;
}

/// Every place, every continuation counted in a map.
std::vector<Text> context_by_search(const Text& text, const NgramShape& shape) {
  if (text.size() <= shape.query) return {};
  auto ends = ends_of(std::span(text).last(shape.query), text);
  ends.pop_back();  // the end itself
  std::map<Text, std::pair<std::uint32_t, std::uint32_t>> count_and_place;
  for (const std::uint32_t end : ends) {
    const auto from = text.begin() + end;
    auto& known = count_and_place[Text(from, from + std::min<std::ptrdiff_t>(shape.width, text.end() - from))];
    known = {known.first + 1, end};
  }
  std::vector<Text> rows;
  while (rows.size() < shape.rows && !count_and_place.empty()) {
    const auto best = std::ranges::max_element(count_and_place, {}, [](const auto& entry) { return entry.second; });
    rows.push_back(best->first);
    count_and_place.erase(best);
  }
  return rows;
}

TEST(NgramRows, ContextRowsAreTheMostFrequentThenTheLatest) {
  std::mt19937_64 random(12);
  std::size_t found = 0, several = 0;
  for (int i = 0; i < 4000; ++i) {
    const Text text = repetitive_text(random, random() % 80 + 1);
    const NgramShape shape{static_cast<std::uint32_t>(random() % 12 + 1), static_cast<std::uint32_t>(random() % 6 + 1),
                           static_cast<std::uint32_t>(random() % 4 + 1)};
    const auto rows = context_rows(index_of(text), shape);
    ASSERT_EQ(tokens_of(rows), context_by_search(text, shape)) << i;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      ASSERT_EQ(rows[r].rank, r);
      ASSERT_EQ(rows[r].strategy, NgramStrategy::context);
    }
    found += rows.empty() ? 0 : 1;
    several += rows.size() > 2 ? 1 : 0;
  }
  EXPECT_GT(found, 2000u);
  EXPECT_GT(several, 1000u);
}

/// 6 tokens; after t come t + 1, t + 2, ... of them.
Bigrams circle(std::uint32_t width = 3) {
  Text next;
  for (Token token = 0; token < 6; ++token) {
    for (std::uint32_t i = 1; i <= width; ++i) next.push_back((token + static_cast<Token>(i)) % 6);
  }
  return {width, next};
}

TEST(NgramRows, BigramsAreExtendedByTheLikeliestOne) {
  const Bigrams bigrams = circle();
  const auto rows = extended_rows(NgramStrategy::bigram, bigrams.after(4), bigrams, {2, 3, 1});
  EXPECT_EQ(tokens_of(rows), (std::vector<Text>{{5, 0, 1}, {0, 1, 2}}));
  EXPECT_EQ(rows[1].rank, 1u);
  EXPECT_TRUE(bigrams.after(6).empty());
  EXPECT_TRUE(bigrams.after(-1).empty());
  const Bigrams ends(2, {1, -1, -1, -1});  // nothing is known after 1
  EXPECT_EQ(tokens_of(extended_rows(NgramStrategy::bigram, ends.after(0), ends, {5, 4, 1})), (std::vector<Text>{{1}}));
}

TEST(NgramRows, MixedRowsAreContextThenBigramThenUnigram) {
  const Bigrams bigrams = circle();
  const Text text = {4, 5, 4, 2, 4, 5, 4};  // after 4: "5 4", "2 4" and "5 4"
  NgramParams params{.shape = {6, 2, 1}, .unigram = true};
  const Text unigrams = {3, 5};
  const auto rows = ngram_rows(params, index_of(text), &bigrams, unigrams);
  EXPECT_EQ(tokens_of(rows), (std::vector<Text>{{5, 4}, {2, 4}, {5, 0}, {0, 1}, {1, 2}, {3, 4}}));
  EXPECT_EQ(rows[5].strategy, NgramStrategy::unigram);
  params.context = params.unigram = false;
  EXPECT_EQ(tokens_of(ngram_rows(params, index_of(text), &bigrams, {})), (std::vector<Text>{{5, 0}, {0, 1}, {1, 2}}));
  params = {.shape = {1, 2, 1}};
  EXPECT_EQ(tokens_of(ngram_rows(params, index_of(text), &bigrams, {})), (std::vector<Text>{{5, 4}}));
  std::vector<NgramRow> same = {{NgramStrategy::context, 0, {1, 2}}};
  fill_up(same, std::vector<NgramRow>{{NgramStrategy::bigram, 0, {1, 2}}, {NgramStrategy::bigram, 1, {1, 3}}}, 9);
  EXPECT_EQ(tokens_of(same), (std::vector<Text>{{1, 2}, {1, 3}})) << "a row that is there already is not added";
}

/// What a path through the rows is worth, from the definition.
double worth(const Text& path, std::span<const NgramRow> rows) {
  double sum = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Text& row = rows[r].tokens;
    if (row.size() < path.size() || !std::equal(path.begin(), path.end(), row.begin())) continue;
    sum += std::pow(0.75, static_cast<double>(path.size() - 1)) / static_cast<double>(r + 1);
  }
  return sum;
}

Text path_to(const TokenTree& tree, std::uint32_t row) {
  Text path;
  for (; row != 0; row = tree.parents()[row]) path.insert(path.begin(), tree.tokens()[row]);
  return path;
}

TEST(BestTree, HoldsTheNodesThatAreWorthMost) {
  std::mt19937_64 random(3);
  std::size_t cut = 0;
  for (int i = 0; i < 500; ++i) {
    std::vector<NgramRow> rows(random() % 10 + 1);
    for (NgramRow& row : rows) {
      row.tokens.resize(random() % 10 + 1);
      for (Token& token : row.tokens) token = static_cast<Token>(random() % 3);
    }
    std::map<Text, double> all;
    for (const NgramRow& row : rows) {
      for (std::size_t length = 1; length <= row.tokens.size(); ++length) {
        const Text path(row.tokens.begin(), row.tokens.begin() + static_cast<std::ptrdiff_t>(length));
        all[path] = worth(path, rows);
      }
    }
    const auto most = static_cast<std::uint32_t>(random() % 31 + 1);
    const TokenTree tree = best_tree(7, rows, most);
    ASSERT_EQ(tree.drafts(), std::min<std::size_t>(most, all.size()));
    double least = 1e9;
    for (std::uint32_t row = 1; row < tree.rows(); ++row) {
      const auto node = all.find(path_to(tree, row));
      ASSERT_NE(node, all.end());
      ASSERT_LE(node->second, least + 1e-12) << "the most valuable come first";
      least = node->second;
      all.erase(node);
    }
    for (const auto& [path, value] : all) ASSERT_LE(value, least + 1e-12);
    cut += all.empty() ? 0 : 1;
  }
  EXPECT_GT(cut, 200u);
}

TEST(Ngram, IsPlainDecodingInEveryForm) {
  for (const char* specification :
       {"ngram", "ngram:k=4,w=31", "ngram:k=25,w=3,q=2", "ngram:bigram=0", "ngram:context=0", "ngram:rows=block",
        "ngram:k=3,w=5,rows=block", "ngram:unigram=1,k=25", "ngram:bigram=0,q=3+jacobi", "auto:ngram,asd"}) {
    std::uint64_t accepted = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      test::FakeModel model;
      model.seed = seed;
      model.vocabulary = 6;
      model.memory = seed % 3 + 1;
      if (seed % 2 == 0) model.sampling.temperature = 0.7f;
      ModelFacts facts{.layers = 12};
      facts.bigrams = [] { return std::make_shared<const Bigrams>(circle(5)); };
      facts.unigrams = [] { return Text{2, 0, 4}; };
      const auto drafter = make_drafter(specification, facts);
      const std::set<Token> ends = seed % 5 == 0 ? std::set<Token>{3} : std::set<Token>{};
      const std::uint32_t context = seed % 4 == 0 ? 60 : 200;
      for (const std::uint32_t most : {1u, 2u, 7u, 120u}) {
        test::FakeSequence sequence(model, context, 32);
        const Outcome outcome = generate(sequence, *drafter, Text{0, 1, 2}, test::limits_of(most, ends), {});
        const test::Expected expected = test::decode_plainly(model, {0, 1, 2}, context, most, ends, 0);
        ASSERT_EQ(outcome.tokens, expected.tokens) << specification << ", seed " << seed << ", " << most;
        ASSERT_EQ(outcome.stop, expected.stop) << specification << ", seed " << seed << ", " << most;
        accepted += outcome.stats.accepted;
      }
    }
    EXPECT_GT(accepted, 100u) << specification;
  }
}

TEST(Ngram, CountsWhatWasAcceptedOfEachStrategy) {
  test::FakeModel model;
  model.vocabulary = 6;
  model.memory = 2;
  for (const char* specification : {"ngram", "ngram:rows=block,k=10,w=10"}) {
    ModelFacts facts;
    facts.bigrams = [] { return std::make_shared<const Bigrams>(circle(5)); };
    const auto drafter = make_drafter(specification, facts);
    test::FakeSequence sequence(model, 400, 32);
    const Stats stats = generate(sequence, *drafter, Text{0, 1, 2}, {300, {}}, {}).stats;
    ASSERT_EQ(stats.by_strategy.size(), 2u);
    EXPECT_EQ(stats.by_strategy[0].name, "context");
    EXPECT_EQ(stats.by_strategy[1].name, "bigram");
    std::uint64_t accepted = 0, won = 0, ranked = 0;
    for (const StrategyCounts& counts : stats.by_strategy) {
      for (std::size_t i = 0; i < counts.by_length.size(); ++i) accepted += (i + 1) * counts.by_length[i], won += counts.by_length[i];
      for (const std::uint64_t count : counts.by_rank) ranked += count;
      EXPECT_GT(counts.rows, 0u);
      EXPECT_LE(counts.by_length.size(), 10u);
      EXPECT_LE(counts.by_rank.size(), 10u);
    }
    EXPECT_EQ(accepted, stats.accepted);
    EXPECT_EQ(ranked, won);
    EXPECT_LE(won, stats.rounds);
    EXPECT_GT(won, 0u);
  }
}

TEST(Ngram, RefusesWhatItCannotDo) {
  const auto error_of = [](const std::string& specification) {
    try {
      make_drafter(specification)->attach({});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  EXPECT_EQ(error_of("ngram:k=0"), "drafter ngram: k=0 has to be a whole number from 1 to 25");
  EXPECT_EQ(error_of("ngram:k=26"), "drafter ngram: k=26 has to be a whole number from 1 to 25");
  EXPECT_EQ(error_of("ngram:w=32"), "drafter ngram: w=32 has to be a whole number from 1 to 31");
  EXPECT_EQ(error_of("ngram:w=0"), "drafter ngram: w=0 has to be a whole number from 1 to 31");
  EXPECT_EQ(error_of("ngram:q=0"), "drafter ngram: q=0 has to be a whole number from 1 to 16");
  EXPECT_EQ(error_of("ngram:rows=3"), "drafter ngram: rows=3 has to be one of: tree, block");
  EXPECT_EQ(error_of("ngram:context=0,bigram=0"), "drafter ngram: context=0, bigram=0, unigram=0 leave nothing to draft with");
  EXPECT_EQ(error_of("ngram"), "drafter ngram: there is no table of this model's bigrams; say bigram=0,unigram=0");
  EXPECT_EQ(error_of("recycle:k=9"), "drafter recycle: k=9 has to be a whole number from 1 to 8");
  EXPECT_EQ(error_of("recycle:n=32"), "drafter recycle: n=32 has to be a whole number from 1 to 31");
}

}  // namespace
}  // namespace skipstone::speculation
