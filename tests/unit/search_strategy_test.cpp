// Strategies on made-up objectives: no set twice, the same for a seed, better than chance.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "search/bayesian_search.h"
#include "speculation/search/moves.h"
#include "speculation/search/strategy.h"

namespace skipstone::speculation::search {
namespace {

using exec::LayerPlan;
using Objective = std::function<double(const LayerPlan&)>;

struct Course {
  std::vector<std::string> sets;
  double best = -1e300;
};

Course follow(Strategy& strategy, const Objective& objective, std::size_t steps, std::uint32_t layers) {
  Course course;
  for (std::size_t i = 0; i < steps; ++i) {
    const auto set = strategy.next();
    if (!set) break;
    const double value = objective(*set);
    strategy.tell(*set, value);
    course.sets.push_back(set->print(layers));
    course.best = std::max(course.best, value);
  }
  return course;
}

/// What skipping is like: cost falls with every sublayer, agreement falls more with early ones, with some late ones, and with neighbours.
double speedup(const LayerPlan& set, std::uint32_t layers) {
  double damage = 0, cost = 1;
  for (std::uint32_t sublayer = 0; sublayer < 2 * layers; ++sublayer) {
    if (!skips(set, sublayer, layers)) continue;
    const std::uint32_t layer = sublayer % layers;
    const double depth = static_cast<double>(layer) / layers;
    damage += 0.02 + 0.3 * (1 - depth) * (1 - depth) + (layer % 5 == 3 ? 0.15 : 0) + (layer + 1 == layers ? 0.4 : 0);
    if (layer > 0 && skips(set, sublayer - 1, layers) && sublayer != layers) damage += 0.01;
    cost -= 0.4 / layers;
  }
  return std::exp(-damage) * 3 / (2 * cost + 1) + 1.0 / (2 * cost + 1);
}

TEST(Strategies, NameNoSetTwiceAndNeverTheEmptyOne) {
  constexpr std::uint32_t layers = 8;
  const auto objective = [](const LayerPlan& set) { return speedup(set, layers); };
  const std::vector<LayerPlan> start = {LayerPlan::parse("attn:3", layers), LayerPlan::parse("attn:3", layers), LayerPlan::full(layers)};
  for (const auto& strategy : {random_search(layers, 1), bayesian_search(layers, start, 5, 1), given_sets("asd", start)}) {
    const Course course = follow(*strategy, objective, 60, layers);
    EXPECT_EQ(std::set<std::string>(course.sets.begin(), course.sets.end()).size(), course.sets.size()) << strategy->name();
    EXPECT_EQ(std::ranges::count(course.sets, "full"), 0);
    EXPECT_EQ(course.sets.size(), strategy->name() == "asd" ? 1u : 60u);
  }
}

TEST(Strategies, TakeAllOfASmallSpaceAndStop) {
  constexpr std::uint32_t layers = 2;  // 15 sets
  const auto objective = [](const LayerPlan& set) { return static_cast<double>(set.skip_mlp.count()); };
  EXPECT_EQ(follow(*random_search(layers, 4), objective, 100, layers).sets.size(), 15u);
  EXPECT_EQ(follow(*bayesian_search(layers, {}, 3, 4), objective, 100, layers).sets.size(), 15u);
}

TEST(Strategies, AreTheSameForASeed) {
  constexpr std::uint32_t layers = 10;
  const auto objective = [](const LayerPlan& set) { return speedup(set, layers); };
  const auto course = [&](std::uint64_t seed) { return follow(*bayesian_search(layers, {}, 6, seed), objective, 25, layers).sets; };
  EXPECT_EQ(course(5), course(5));
  EXPECT_NE(course(5), course(6));
  EXPECT_EQ(follow(*random_search(layers, 5), objective, 25, layers).sets, follow(*random_search(layers, 5), objective, 25, layers).sets);
}

TEST(BayesianSearch, FindsMoreThanChanceInAsManySteps) {
  constexpr std::uint32_t layers = 16;
  constexpr std::size_t steps = 70;
  const auto objective = [](const LayerPlan& set) { return speedup(set, layers); };
  int won = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double searched = follow(*bayesian_search(layers, {}, 10, seed), objective, steps, layers).best;
    const double chance = follow(*random_search(layers, seed), objective, steps, layers).best;
    won += searched > chance * 1.02 ? 1 : 0;
    EXPECT_GT(searched, 1.0) << "skipping pays here";
  }
  EXPECT_EQ(won, 3);
}

TEST(Moves, KeepWhatTheySay) {
  constexpr std::uint32_t layers = 9;
  Random random(11);
  std::set<std::size_t> sizes;
  for (int i = 0; i < 300; ++i) {
    const LayerPlan set = random_set(layers, random);
    EXPECT_GT(set.skipped_sublayers(layers), 0u);
    sizes.insert(set.skip_attention.count());
    const LayerPlan other = swapped(set, 1, layers - 1, random);
    EXPECT_EQ(other.skip_attention.count(), set.skip_attention.count());
    EXPECT_EQ(other.skip_mlp.count(), set.skip_mlp.count());
    for (const std::uint32_t kept : {0u, layers - 1}) {
      EXPECT_EQ(other.skip_attention[kept], set.skip_attention[kept]);
      EXPECT_EQ(other.skip_mlp[kept], set.skip_mlp[kept]);
    }
    const LayerPlan child = crossed(set, other, layers, random);
    for (std::uint32_t s = 0; s < 2 * layers; ++s) {
      const bool from_either = skips(child, s, layers) == skips(set, s, layers) || skips(child, s, layers) == skips(other, s, layers);
      EXPECT_TRUE(from_either);
    }
  }
  EXPECT_EQ(sizes.size(), layers + 1) << "every cardinality comes up";
  EXPECT_EQ(as_set(LayerPlan::parse("layers:0-6;attn:2", layers), layers).print(layers), "attn:2,7-8;mlp:7-8");
}

TEST(AsdSets, DefaultsFirstAndEachOnce) {
  constexpr std::uint32_t layers = 12;
  const std::vector<float> cosine = {.5f, .9f, .96f, .98f, .99f, .999f, .975f, .96f, .99f, .999f, .98f, .7f};
  const std::vector<LayerPlan> sets = asd_sets(layers, cosine);
  ASSERT_GE(sets.size(), 8u);
  EXPECT_EQ(sets.front().print(layers), "attn:2,4-5,8-9;mlp:2,5,8");
  std::set<std::string> different;
  for (const LayerPlan& set : sets) different.insert(set.print(layers));
  EXPECT_EQ(different.size(), sets.size());
  const std::vector<LayerPlan> exits = exit_sets(layers);
  ASSERT_EQ(exits.size(), 4u);
  EXPECT_EQ(exits.front().print(layers), "attn:6-11;mlp:6-11");
  EXPECT_TRUE(exit_sets(1).empty());
}

}  // namespace
}  // namespace skipstone::speculation::search
