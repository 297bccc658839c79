#include "speculation/drafters/recycle.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "speculation/loop.h"
#include "speculation/registry.h"
#include "unit/fake_sequence.h"
#include "unit/proposals.h"

namespace skipstone::speculation {
namespace {

using Text = std::vector<Token>;

Text copy(std::span<const Token> tokens) { return {tokens.begin(), tokens.end()}; }

TEST(RecycleMatrix, KeepsTheLastOfEveryToken) {
  RecycleMatrix matrix(2);
  EXPECT_TRUE(matrix.after(3).empty());
  matrix.update(Text{3, 4, 3}, Text{1, 2, 0, 5, 6, 0, 7, 8, 0});
  EXPECT_EQ(copy(matrix.after(3)), (Text{7, 8}));
  EXPECT_EQ(copy(matrix.after(4)), (Text{5, 6}));
  matrix.update(Text{4}, Text{9, -1, -1});
  EXPECT_EQ(copy(matrix.after(4)), (Text{9, -1}));
  EXPECT_EQ(copy(matrix.after(3)), (Text{7, 8}));
}

TEST(RecycleTemplate, IsATreeOfFallingShares) {
  for (const std::uint32_t ranks : {1u, 3u, 8u}) {
    for (const std::uint32_t drafts : {1u, 7u, 31u}) {
      const auto nodes = recycle_template(ranks, drafts);
      ASSERT_EQ(nodes.size(), drafts);
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> places;
      for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        EXPECT_LE(nodes[i].parent, i) << "a parent stands before its children";
        EXPECT_LT(nodes[i].rank, ranks);
        EXPECT_TRUE(places.emplace(std::pair{nodes[i].parent, nodes[i].rank}, i).second) << "twice";
        // A likelier rank of the same parent comes first.
        EXPECT_TRUE(nodes[i].rank == 0 || places.contains({nodes[i].parent, nodes[i].rank - 1}));
      }
      EXPECT_EQ(nodes[0].parent, 0u);
      EXPECT_EQ(nodes[0].rank, 0u);
      EXPECT_TRUE(ranks > 1 || nodes.back().parent == drafts - 1) << "one rank makes a chain";
    }
  }
}

TEST(Recycle, DraftsWhatTheModelFoundLikely) {
  const auto drafter = make_drafter("recycle:k=2,n=4");
  drafter->begin({}, 12);
  EXPECT_EQ(test::tree_of(drafter->propose(Text{5})).drafts(), 0u);
  TokenTree verified = TokenTree::chain(5, Text{6});
  const Text top = {6, 7, 8, 9};
  const std::array<std::uint32_t, 2> path = {0, 1};
  drafter->observe({.drafted = 1, .accepted = 1, .limit = 1, .tree = verified, .path = path, .top = top});
  const TokenTree tree = test::tree_of(drafter->propose(Text{5, 6, 5}));
  // 6, then 8 after it (0.55 * 0.55), after which nothing is known, then 7 (0.15).
  EXPECT_EQ(copy(tree.tokens()), (Text{5, 6, 8, 7}));
  EXPECT_EQ(std::vector<std::uint32_t>(tree.parents().begin(), tree.parents().end()), (std::vector<std::uint32_t>{0, 0, 1, 0}));
}

TEST(Recycle, IsPlainDecodingAndGetsBetter) {
  for (const char* specification : {"recycle", "recycle:k=3,n=9", "lookup:min=3+recycle", "auto:recycle,asd"}) {
    std::uint64_t accepted = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      test::FakeModel model;
      model.seed = seed;
      model.vocabulary = 40;
      model.memory = 1;
      if (seed % 2 == 0) model.sampling.temperature = 0.7f;
      const auto drafter = make_drafter(specification, {.layers = 12});
      for (const std::uint32_t most : {1u, 3u, 120u}) {
        test::FakeSequence sequence(model, 200, 32);
        const Outcome outcome = generate(sequence, *drafter, Text{0, 1, 2}, {most, {}}, {});
        ASSERT_EQ(outcome.tokens, test::decode_plainly(model, {0, 1, 2}, 200, most, {}, 0).tokens) << specification << ", seed " << seed;
        accepted += outcome.stats.accepted;
        if (std::string(specification).find('+') != std::string::npos || outcome.stats.drafted == 0) continue;
        std::uint64_t counted = 0;
        for (const StrategyCounts& counts : outcome.stats.by_strategy) {
          EXPECT_EQ(counts.name, "recycle");
          EXPECT_LE(counts.by_rank.size(), 8u);
          for (std::size_t i = 0; i < counts.by_length.size(); ++i) counted += (i + 1) * counts.by_length[i];
        }
        if (std::string(specification).starts_with("recycle")) {
          EXPECT_EQ(counted, outcome.stats.accepted);
        }
      }
    }
    EXPECT_GT(accepted, 400u) << specification;
  }
}

}  // namespace
}  // namespace skipstone::speculation
