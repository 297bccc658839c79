#include "exec/layer_plan.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/status.h"

namespace skipstone::exec {
namespace {

std::string error_of(std::string_view text, std::uint32_t layers) {
  try {
    LayerPlan::parse(text, layers);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(LayerPlan, FullRunsEverySublayerAndNoOther) {
  const LayerPlan plan = LayerPlan::full(3);
  for (std::uint32_t layer = 0; layer < 3; ++layer) {
    EXPECT_TRUE(plan.runs_attention(layer));
    EXPECT_TRUE(plan.runs_mlp(layer));
  }
  EXPECT_FALSE(plan.runs_attention(3));
  EXPECT_FALSE(plan.runs_mlp(3));
  EXPECT_EQ(plan.skipped_sublayers(3), 0u);
  EXPECT_EQ(plan.print(3), "full");
}

TEST(LayerPlan, ParsesSkipsAndRanges) {
  const LayerPlan plan = LayerPlan::parse("mlp:9;attn:3,5-7;layers:1-10", 12);
  EXPECT_EQ(plan.begin, 1u);
  EXPECT_EQ(plan.end, 11u);
  for (std::uint32_t layer = 0; layer < 12; ++layer) {
    const bool inside = layer >= 1 && layer <= 10;
    EXPECT_EQ(plan.runs_attention(layer), inside && layer != 3 && (layer < 5 || layer > 7)) << layer;
    EXPECT_EQ(plan.runs_mlp(layer), inside && layer != 9) << layer;
  }
  EXPECT_EQ(plan.skipped_sublayers(12), 4u + 4u + 1u);
  EXPECT_EQ(plan.print(12), "layers:1-10;attn:3,5-7;mlp:9");
}

TEST(LayerPlan, ShortestFormAndSpaces) {
  EXPECT_EQ(LayerPlan::parse(" attn: 2 , 0-1,1 ; mlp:3 ", 4).print(4), "attn:0-2;mlp:3");
  EXPECT_EQ(LayerPlan::parse("layers:2", 4).print(4), "layers:2");
  EXPECT_EQ(LayerPlan::parse("layers:0-3", 4).print(4), "full");
  EXPECT_EQ(LayerPlan::parse("attn:4-4", 8).print(8), "attn:4");
  EXPECT_EQ(LayerPlan::parse("", 4), LayerPlan::full(4));
  EXPECT_EQ(LayerPlan::parse("full", 4), LayerPlan::full(4));
  EXPECT_EQ(LayerPlan{}.print(4), "layers:none");
  EXPECT_EQ(LayerPlan::parse("layers:none", 4), LayerPlan{});
  EXPECT_EQ(LayerPlan{}.skipped_sublayers(4), 8u);
}

TEST(LayerPlan, FewerExpertsMakeNoLayerWhole) {
  const LayerPlan plan = LayerPlan::parse("experts:2;mlp:3", 4);
  EXPECT_EQ(plan.experts, 2u);
  EXPECT_EQ(plan.print(4), "mlp:3;experts:2");
  EXPECT_EQ(plan.whole_prefix(), 0u);
  EXPECT_EQ(plan.skipped_sublayers(4), 1u);
  EXPECT_NE(LayerPlan::parse("experts:2", 4), LayerPlan::full(4));
}

TEST(LayerPlan, ParseOfPrintIsTheSamePlan) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const auto layers = static_cast<std::uint32_t>(random() % LayerPlan::max_layers + 1);
    LayerPlan plan = LayerPlan::full(layers);
    const std::uint32_t sparsity = static_cast<std::uint32_t>(random() % 8 + 1);
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      plan.skip_attention[layer] = random() % sparsity == 0;
      plan.skip_mlp[layer] = random() % sparsity == 0;
    }
    if (i % 2 == 0) {
      plan.begin = static_cast<std::uint32_t>(random() % layers);
      plan.end = plan.begin + 1 + static_cast<std::uint32_t>(random() % (layers - plan.begin));
    }
    plan.experts = static_cast<std::uint32_t>(random() % 3);
    ASSERT_EQ(LayerPlan::parse(plan.print(layers), layers), plan) << plan.print(layers);
  }
}

TEST(LayerPlan, RefusesWhatItCannotRead) {
  EXPECT_TRUE(contains(error_of("attn:12", 12), "layer 12 in 'attn:12' does not exist; the model's layers are 0 to 11"));
  EXPECT_TRUE(contains(error_of("attn:3,99999999999999", 12), "99999999999999"));
  EXPECT_TRUE(contains(error_of("attn:7-5", 12), "write 5-7"));
  EXPECT_TRUE(contains(error_of("head:1", 12), "'head:1' is not understood"));
  EXPECT_TRUE(contains(error_of("full;attn:1", 12), "'full' is not understood"));
  EXPECT_TRUE(contains(error_of("attn:1;attn:2", 12), "a second time"));
  EXPECT_TRUE(contains(error_of("layers:1;layers:2", 12), "a second time"));
  for (const char* text :
       {"attn", "attn:", "attn:x", "attn:1,", "attn:-1", "attn:1-", "attn:1 2", "attn:1;", ";", "layers:", "layers:1,2", "mlp:+1",
        "attn:1:2", "attn:none", "experts:", "experts:0", "experts:-1", "experts:1,2", "experts:1;experts:2"}) {
    EXPECT_FALSE(error_of(text, 12).empty()) << text;
  }
  EXPECT_FALSE(error_of("", 0).empty());
  EXPECT_FALSE(error_of("", 257).empty());
  EXPECT_TRUE(error_of("attn:255", 256).empty());
}

}  // namespace
}  // namespace skipstone::exec
