// Which layers lie on which device, and what is said of plans that cannot be.
#include "engine/stage_plan.h"

#include <gtest/gtest.h>

#include <string>

#include "base/status.h"
#include "engine/engine.h"

namespace skipstone::engine {
namespace {

std::string refusal(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(StagePlan, DevicesAreReadWithAndWithoutLayers) {
  const auto two = parse_devices("0,1", false);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[1].device, "1");
  EXPECT_EQ(two[1].layers, 0u);
  const auto numbered = parse_devices("radeon:20,1:12", false);
  EXPECT_EQ(numbered[0].device, "radeon");
  EXPECT_EQ(numbered[0].layers, 20u);
  EXPECT_EQ(numbered[1].layers, 12u);
  EXPECT_EQ(parse_devices("0,0", true).size(), 2u);
}

TEST(StagePlan, WhatIsNoListOfDevicesIsRefused) {
  EXPECT_NE(refusal([] { parse_devices("0,0", false); }).find("named twice"), std::string::npos);
  EXPECT_NE(refusal([] { parse_devices("0,,1", false); }).find("without a device"), std::string::npos);
  EXPECT_NE(refusal([] { parse_devices("", false); }).find("without a device"), std::string::npos);
  EXPECT_NE(refusal([] { parse_devices("0:x,1:2", false); }).find("'x'"), std::string::npos);
  EXPECT_NE(refusal([] { parse_devices("0:0,1:2", false); }).find("'0'"), std::string::npos);
  EXPECT_NE(refusal([] { parse_devices("0:-3,1:2", false); }).find("'-3'"), std::string::npos);
  EXPECT_NE(refusal([] { parse_devices("0:99999999999,1", false); }).find("99999999999"), std::string::npos);
  EXPECT_NE(refusal([] { parse_devices("0:3,1", false); }).find("not all"), std::string::npos);
}

const StageNeeds needs{.layers = std::vector<std::uint64_t>(32, 100), .head = 400, .first_activations = 50, .later_activations = 20};

TEST(StagePlan, LayersFollowFreeMemory) {
  const std::vector<StageDevice> same{{"a", 4000}, {"b", 4000}};
  EXPECT_EQ(plan_stages(needs, same), (std::vector<std::uint32_t>{14, 32}));  // the first one has the head besides
  const std::vector<StageDevice> unequal{{"a", 8000}, {"b", 2000}};
  const auto ends = plan_stages(needs, unequal);
  EXPECT_GT(ends[0], 22u);
  EXPECT_EQ(ends[1], 32u);
  const std::vector<StageDevice> three{{"a", 4000}, {"b", 4000}, {"c", 4000}};
  EXPECT_EQ(plan_stages(needs, three).back(), 32u);
}

TEST(StagePlan, WishesAreTheModelsLayers) {
  const std::vector<StageDevice> devices{{"a", 9000, 20}, {"b", 9000, 12}};
  EXPECT_EQ(plan_stages(needs, devices), (std::vector<std::uint32_t>{20, 32}));
  EXPECT_NE(refusal([] {
              plan_stages(needs, std::vector<StageDevice>{{"a", 9000, 20}, {"b", 9000, 13}});
            }).find("33 layers"),
            std::string::npos);
  EXPECT_NE(refusal([] {
              plan_stages(needs, std::vector<StageDevice>{{"a", 9000, ~0u}, {"b", 9000, 33}});
            }).find("layers"),
            std::string::npos);
  EXPECT_NE(refusal([] { plan_stages(needs, std::vector<StageDevice>(33, {"a", 9000})); }).find("too many"), std::string::npos);
}

TEST(StagePlan, WhatDoesNotFitIsRefusedWithTheNumbersOfEachDevice) {
  const std::string text = refusal([] { plan_stages(needs, std::vector<StageDevice>{{"device 0", 1500}, {"device 1", 1500}}); });
  EXPECT_NE(text.find("device 0 needs"), std::string::npos) << text;
  EXPECT_NE(text.find("device 1 needs"), std::string::npos) << text;
  const std::string wished = refusal([] { plan_stages(needs, std::vector<StageDevice>{{"a", 9000, 2}, {"b", 1000, 30}}); });
  EXPECT_NE(wished.find("b needs"), std::string::npos) << wished;
  EXPECT_FALSE(refusal([] { plan_stages(needs, std::vector<StageDevice>{{"a", 0}, {"b", 0}}); }).empty());
}

// The model needs 3670 bytes on two devices, and 1650 to 2050 of them on the first; a limit leaves room for working memory besides.
TEST(StagePlan, LimitIsOfAllStagesOfAProcess) {
  constexpr std::uint64_t enough = 3670 + MemoryPlan::working_memory(3670);
  const vk::MemoryAccount account(3000), smaller(enough - 1), larger(enough);
  const auto devices = [](bool) { return std::vector<StageDevice>{{"a", 2100, 14}, {"b", 2900, 18}}; };
  EXPECT_NE(refusal([&] { plan_with_room(needs, {account}, devices); }).find("together"), std::string::npos);
  EXPECT_NE(refusal([&] { plan_with_room(needs, {smaller}, devices); }).find("together"), std::string::npos);
  EXPECT_EQ(plan_with_room(needs, {larger}, devices), (std::vector<std::uint32_t>{14, 32}));
  EXPECT_EQ(plan_with_room(needs, {.account = account, .of_all = false}, devices), (std::vector<std::uint32_t>{14, 32}));
}

TEST(StagePlan, RoomIsMadeForWhatTheAccountHasOfThePlan) {
  for (const bool of_all : {true, false}) {
    std::uint64_t asked = 0;
    const vk::MemoryAccount account(0, [&](std::uint64_t bytes) {
      asked = bytes;
      return true;
    });
    const auto devices = [&](bool alone) {
      return std::vector<StageDevice>{{"a", alone || asked > 0 ? 2100u : 100u, 14}, {"b", 2900, 18}};
    };
    EXPECT_EQ(plan_with_room(needs, {account, of_all}, devices), (std::vector<std::uint32_t>{14, 32}));
    EXPECT_EQ(asked, of_all ? needs.of(0, 32) + needs.later_activations : needs.of(0, 14));
  }
  std::uint64_t asked = 0;
  const vk::MemoryAccount account(0, [&](std::uint64_t) { return ++asked > 0; });
  const auto too_small = [](bool) { return std::vector<StageDevice>{{"a", 100, 14}, {"b", 2900, 18}}; };
  EXPECT_NE(refusal([&] { plan_with_room(needs, {account}, too_small); }).find("a needs"), std::string::npos);
  EXPECT_EQ(asked, 0u);
}

}  // namespace
}  // namespace skipstone::engine
