// --online: the set that drafts better takes over, drafts cost what they cost, and the share of the time is kept.
#include <gtest/gtest.h>

#include <vector>

#include "speculation/search/online.h"

namespace skipstone::speculation::search {
namespace {

using exec::LayerPlan;

constexpr std::uint32_t layers = 12;
constexpr std::size_t rows = 16;

/// How likely a draft with this set is right: late layers may go, early ones may not.
double quality(const LayerPlan& set) {
  double quality = 1;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    const double damage = 0.16 * (1 - static_cast<double>(layer) / layers);
    if (set.skip_attention[layer]) quality -= damage;
    if (set.skip_mlp[layer]) quality -= damage;
  }
  return quality;
}

struct Simulation {
  explicit Simulation(const std::string& set, double share) : search(LayerPlan::parse(set, layers), layers, share) {}

  /// `generated` seconds without trials, which take `trial` each.
  void run(double generated, double trial) {
    double seconds = 0;
    for (double own = 0; own < generated; own += 0.05) {
      seconds += 0.05;
      const std::vector<LayerPlan> plans = search.trials(seconds);
      if (plans.empty()) continue;
      std::vector<std::vector<Choice>> choices(plans.size());
      std::vector<Token> expected(rows, 1);
      for (std::size_t row = 0; row < rows; ++row) {
        const double luck = random.unit();  // a token that is easy is easy for both
        for (std::size_t i = 0; i < plans.size(); ++i) choices[i].push_back({luck < quality(plans[i]) ? 1 : 2, 1.0f, 0.0f});
      }
      search.tried(choices, expected, trial);
      seconds += trial;
      spent += trial;
      ++trials;
    }
    total = seconds;
  }

  OnlineSearch search;
  Random random{5};
  double spent = 0, total = 0;
  int trials = 0;
};

TEST(OnlineSearch, FindsABetterSetOfTheSameSize) {
  Simulation simulation("attn:1-3;mlp:1,2", 0.2);
  const LayerPlan start = simulation.search.set();
  simulation.run(200, 0.05);
  const LayerPlan& found = simulation.search.set();
  EXPECT_GT(simulation.search.replaced(), 2u);
  EXPECT_GT(quality(found), quality(start) + 0.15);
  EXPECT_EQ(found.skip_attention.count(), 3u);
  EXPECT_EQ(found.skip_mlp.count(), 2u);
  EXPECT_FALSE(found.skip_attention[0] || found.skip_mlp[0] || found.skip_attention[layers - 1] || found.skip_mlp[layers - 1]);
}

TEST(OnlineSearch, KeepsItsShareOfTheTime) {
  for (const double share : {0.01, 0.05, 0.3}) {
    Simulation simulation("attn:1-3;mlp:1,2", share);
    simulation.run(100, 0.2);
    EXPECT_LE(simulation.spent, share * simulation.total + 0.2 + 1e-9) << share;
    EXPECT_GE(simulation.spent, 0.7 * share * simulation.total) << share;
  }
}

TEST(OnlineSearch, LeavesSetsAloneThatCannotChange) {
  OnlineSearch all(LayerPlan::parse("attn:0-11;mlp:0-11", layers), layers, 0.5);
  EXPECT_TRUE(all.trials(10).empty());
  OnlineSearch small(LayerPlan::parse("attn:1", 2), 2, 0.5);
  EXPECT_TRUE(small.trials(10).empty());
}

}  // namespace
}  // namespace skipstone::speculation::search
