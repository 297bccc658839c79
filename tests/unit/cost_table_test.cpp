// Costs of passes from measured ones: exact where measured, between them otherwise, nothing beyond.
#include "exec/cost_table.h"

#include <gtest/gtest.h>

namespace skipstone::exec {
namespace {

// 4 layers: fixed 10, attention 20, MLP 30 a sublayer, output 40; twice as much for 4 rows.
CostTable table() {
  CostTable costs(4, 512, "wall", 4);
  costs.add(1, {.full = 250, .no_output = 210, .no_attention = 130, .no_mlp = 90, .round_trip = 255});
  costs.add(4, {.full = 500, .no_output = 420, .no_attention = 260, .no_mlp = 180, .round_trip = 500});
  return costs;
}

TEST(CostTable, MeasuredPassesCostWhatWasMeasured) {
  const CostTable costs = table();
  EXPECT_DOUBLE_EQ(costs.verify(1).value(), 250);
  EXPECT_DOUBLE_EQ(costs.verify(4).value(), 500);
  PassSpec no_attention{.layers = LayerPlan::parse("attn:0-3", 4), .output = Output::none};
  EXPECT_DOUBLE_EQ(costs.microseconds(no_attention, 1).value(), 130);
  const CostTable::Parts parts = costs.parts(1).value();
  EXPECT_DOUBLE_EQ(parts.fixed, 10);
  EXPECT_DOUBLE_EQ(parts.attention, 20);
  EXPECT_DOUBLE_EQ(parts.mlp, 30);
  EXPECT_DOUBLE_EQ(parts.output, 40);
  EXPECT_DOUBLE_EQ(parts.host, 5);
}

TEST(CostTable, PlansLieBetweenMeasuredPasses) {
  const CostTable costs = table();
  LayerPlan exit = LayerPlan::full(4);
  exit.end = 2;
  EXPECT_DOUBLE_EQ(costs.draft(exit).value(), 10 + 2 * 50 + 40);
  EXPECT_DOUBLE_EQ(costs.draft(LayerPlan::parse("attn:1;mlp:2", 4)).value(), 200);
  LayerPlan late = LayerPlan::full(4);
  late.begin = 2;
  EXPECT_DOUBLE_EQ(costs.microseconds({.layers = late}, 4).value(), 2 * (10 + 2 * 50 + 40));
  EXPECT_LT(costs.draft(exit).value(), costs.verify(1).value());
}

TEST(CostTable, RowsTakeTheNearestBucketAbove) {
  const CostTable costs = table();
  EXPECT_DOUBLE_EQ(costs.verify(2).value(), 500);
  EXPECT_DOUBLE_EQ(costs.verify(3).value(), 500);
}

TEST(CostTable, NothingIsSaidOfWhatWasNotMeasured) {
  const CostTable costs = table();
  EXPECT_FALSE(costs.verify(5));
  EXPECT_FALSE(costs.verify(0));
  EXPECT_FALSE(costs.parts(16));
  EXPECT_FALSE(costs.microseconds({.layers = LayerPlan::full(4), .output = Output::logits}, 1));
  EXPECT_FALSE(costs.microseconds({.layers = LayerPlan::full(4), .last_row_only = true}, 1));
  EXPECT_FALSE(costs.microseconds({.layers = LayerPlan::full(4), .cosines = Cosines::attention}, 1));
  EXPECT_FALSE(costs.microseconds({.layers = LayerPlan::full(5)}, 1));
  EXPECT_FALSE(CostTable().verify(1));
  EXPECT_TRUE(CostTable().empty());
}

TEST(CostTable, NoiseMakesNoNegativeCosts) {
  CostTable costs(2, 0, "wall", 2);
  // Passes with fewer sublayers that came out slower, and sublayers that came out as more than the whole.
  costs.add(1, {.full = 90, .no_output = 100, .no_attention = 110, .no_mlp = 20, .round_trip = 80});
  costs.add(2, {.full = 100, .no_output = 100, .no_attention = 10, .no_mlp = 10, .round_trip = 100});
  for (const std::uint32_t rows : {1u, 2u}) {
    const CostTable::Parts parts = costs.parts(rows).value();
    for (const double part : {parts.fixed, parts.attention, parts.mlp, parts.output, parts.host}) EXPECT_GE(part, 0);
    EXPECT_NEAR(costs.microseconds({.layers = LayerPlan::full(2), .output = Output::none}, rows).value(), 100, 1e-9);
  }
}

// Four rows of one token read two experts a layer, of different tokens seven.
TEST(CostTable, ExpertsCostWhatRowsOfDifferentTokensTakeMore) {
  const auto parts_with = [](double varied_experts) {
    CostTable costs = table();
    MeasuredPasses passes = costs.measured().at(4);
    passes.varied = 600;
    passes.experts = 2;
    passes.varied_experts = varied_experts;
    costs.add(4, passes);
    EXPECT_DOUBLE_EQ(costs.parts(1).value().expert, 0);
    return costs.parts(4).value();
  };
  EXPECT_DOUBLE_EQ(parts_with(7).expert, 100.0 / 5 / 4);
  EXPECT_DOUBLE_EQ(parts_with(7).experts, 2);
  EXPECT_DOUBLE_EQ(parts_with(2.1).expert, 0) << "next to no more experts: a difference says nothing";
}

// Half of the layers are remote: what the local ones, the output and the host do not explain are transfers.
TEST(CostTable, PassesThatLeaveTheDeviceCostHops) {
  CostTable costs(4, 512, "wall", 2);
  costs.add(1, {.full = 350, .no_output = 310, .no_attention = 230, .no_mlp = 190, .round_trip = 350, .local = 150});
  const CostTable::Parts parts = costs.parts(1).value();
  EXPECT_DOUBLE_EQ(parts.transfer, 100);
  EXPECT_DOUBLE_EQ(parts.fixed, 10);
  EXPECT_DOUBLE_EQ(costs.verify(1).value(), 350);
  LayerPlan near = LayerPlan::full(4);
  near.end = 2;
  EXPECT_DOUBLE_EQ(costs.draft(near).value(), 150);
  near.end = 3;
  EXPECT_DOUBLE_EQ(costs.draft(near).value(), 300);
}

}  // namespace
}  // namespace skipstone::exec
