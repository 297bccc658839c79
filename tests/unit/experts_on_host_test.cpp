// Which layers' experts stay in host memory, and what is said where that does not help.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/model_loading.h"
#include "engine/stage_plan.h"
#include "fixtures/failure.h"
#include "fixtures/warnings.h"
#include "model/config.h"
#include "model/synthetic.h"

namespace skipstone::engine {
namespace {

model::WeightLayout layout_of(const model::Config& config, const gguf::File& file) {
  return model::layout_weights(config, model::find_tensors(file, config), std::numeric_limits<std::uint64_t>::max(), 1);
}

class ExpertsOnHost : public testing::Test {
 protected:
  /// Bytes that the whole model takes of one device less those of the experts of `layers` layers.
  std::uint64_t bytes_with(std::uint32_t layers) const { return needs_.with_experts_on_host(layers).of(0, config_.layer_count()); }
  /// The least memory of a device in which they and the working memory have room.
  std::uint64_t room_for(std::uint32_t layers) const {
    const auto is_enough = [&](std::uint64_t bytes) { return bytes - MemoryPlan::working_memory(bytes) >= bytes_with(layers); };
    std::uint64_t bytes = bytes_with(layers) + MemoryPlan::working_memory(bytes_with(layers));
    while (!is_enough(bytes)) bytes += 1 << 20;
    while (is_enough(bytes - 1)) --bytes;
    return bytes;
  }

  StagePlan plan(std::uint64_t available, std::optional<std::uint32_t> asked = {}, std::uint64_t limit = 0) const {
    const vk::MemoryAccount account(limit);
    return plan_with_experts(needs_, layout_, asked, {account}, [&](bool) { return std::vector<StageDevice>{{"device 0", available}}; });
  }

  const gguf::File file_ = model::synthetic_model("qwen3-30b-a3b:q4_0");
  const model::Config config_ = model::Config::from(file_);
  const model::WeightLayout layout_ = layout_of(config_, file_);
  const StageNeeds needs_ = stage_needs(config_, layout_, choose_shape(config_, 256, {}, KvFormat::f16));
};

TEST_F(ExpertsOnHost, AreTheStacksOfTheFirstLayers) {
  ASSERT_EQ(layout_.leading_experts(), 48u);
  const model::Experts& experts = std::get<model::Experts>(config_.layers[0].feedforward);
  const std::uint64_t weights = std::uint64_t{3} * experts.count * experts.width * config_.width;  // gate, up and down
  EXPECT_EQ(layout_.expert_bytes(5), weights / 32 * 18);                                           // Q4_0: 18 bytes for 32 weights
  model::WeightLayout layout = layout_;
  layout.keep_experts_on_host(7);
  EXPECT_EQ(layout.host_bytes(), 7 * layout.expert_bytes(0));
  EXPECT_EQ(layout.bytes(), layout_.bytes());
  const MemoryPlan plan = plan_memory(config_, layout, {.context = 64});
  EXPECT_EQ(plan.weights, layout_.bytes() - layout.host_bytes());
  EXPECT_EQ(plan.host_weights, layout.host_bytes());
  EXPECT_EQ(plan.experts, 41 * layout.expert_bytes(0));
  layout.keep_layers(5, 48);  // a later stage has those of its own layers
  EXPECT_EQ(layout.host_bytes(), 2 * layout.expert_bytes(5));
}

TEST_F(ExpertsOnHost, AreAsFewAsFit) {
  EXPECT_EQ(plan(room_for(0)).experts_on_host, 0u);
  EXPECT_EQ(plan(room_for(0) - 1).experts_on_host, 1u);
  EXPECT_EQ(plan(room_for(30)).experts_on_host, 30u);
  EXPECT_EQ(plan(room_for(30) - 1).experts_on_host, 31u);
  const auto limit = [&](std::uint32_t layers) { return bytes_with(layers) + MemoryPlan::working_memory(bytes_with(layers)); };
  EXPECT_EQ(plan(bytes_with(0), {}, limit(12)).experts_on_host, 12u);
  EXPECT_EQ(plan(bytes_with(0), {}, limit(12) - 1).experts_on_host, 13u);
  EXPECT_EQ(plan(room_for(20), {}, limit(12)).experts_on_host, 20u) << "the device has less than the limit";
}

TEST_F(ExpertsOnHost, AreAsManyAsAsked) {
  EXPECT_EQ(plan(bytes_with(0), 3).experts_on_host, 3u);
  EXPECT_EQ(plan(bytes_with(0), 1000).experts_on_host, 48u);
  EXPECT_EQ(plan(bytes_with(0), 0).experts_on_host, 0u);
  const fixtures::Failure none = fixtures::failure_of([&] { plan(bytes_with(0) - 1, 0); });
  EXPECT_EQ(none.code, Code::out_of_memory);
  EXPECT_NE(none.message.find("device 0 needs"), std::string::npos) << none.message;
  EXPECT_EQ(fixtures::failure_of([&] { plan(bytes_with(12) - 1, 12); }).code, Code::out_of_memory);
}

TEST_F(ExpertsOnHost, WhereAllAreNotEnoughThePlanIsRefused) {
  EXPECT_EQ(plan(bytes_with(48)).experts_on_host, 48u);
  const fixtures::Failure small = fixtures::failure_of([&] { plan(bytes_with(48) - 1); });
  EXPECT_EQ(small.code, Code::out_of_memory);
  EXPECT_NE(small.message.find("does not fit the devices"), std::string::npos) << small.message;
  EXPECT_NE(small.message.find("with the experts of the first 48 layers in host memory, "), std::string::npos) << small.message;
}

TEST_F(ExpertsOnHost, OfAModelWithoutExpertsAreNone) {
  const gguf::File file = model::synthetic_model("llama-3.2-1b:q4_0");
  const model::Config config = model::Config::from(file);
  const model::WeightLayout layout = layout_of(config, file);
  EXPECT_EQ(layout.leading_experts(), 0u);
  const auto never = [](std::uint32_t) { return false; };
  EXPECT_EQ(choose_experts_on_host(layout, {}, never), 0u);
  EXPECT_EQ(choose_experts_on_host(layout, 0, never), 0u);
  const fixtures::Warnings warnings;
  EXPECT_EQ(choose_experts_on_host(layout, 2, never), 0u);
  ASSERT_EQ(warnings.texts.size(), 1u);
  EXPECT_NE(warnings.texts[0].find("the model has no experts"), std::string::npos) << warnings.texts[0];
}

// The first device has the first layers, whose experts move; its share of the layers grows by what that frees.
TEST_F(ExpertsOnHost, CountFromTheModelsFirstLayerOnSeveralDevices) {
  const vk::MemoryAccount account(0);
  const std::uint64_t half = (needs_.of(0, 48) + needs_.later_activations) / 2;
  const auto plan_on = [&](std::uint64_t first, std::uint64_t second) {
    return plan_with_experts(needs_, layout_, {}, {account}, [&](bool) { return std::vector<StageDevice>{{"a", first}, {"b", second}}; });
  };
  EXPECT_EQ(plan_on(2 * half, 2 * half).experts_on_host, 0u);
  const StagePlan fewer = plan_on(half * 2 / 3, half * 2 / 3);
  EXPECT_GT(fewer.experts_on_host, 10u);
  EXPECT_LT(fewer.experts_on_host, 25u);
  EXPECT_GT(fewer.ends.front(), 24u);
  const StageNeeds less = needs_.with_experts_on_host(fewer.experts_on_host - 1);
  EXPECT_GT(less.of(0, 48) + less.later_activations, half * 4 / 3 - MemoryPlan::working_memory(half * 4 / 3) - needs_.layers[0])
      << "fewer would fit";
}

// The limit of ranks is one of the first rank's part.
TEST_F(ExpertsOnHost, AreAsFewAsTheFirstRanksLimitNeeds) {
  const std::vector<StageDevice> ranks{{"rank 0", bytes_with(0), 20}, {"rank 1", bytes_with(0), 28}};
  const std::uint64_t first = needs_.with_experts_on_host(4).of(0, 20), limit = first + MemoryPlan::working_memory(first);
  for (const std::uint64_t less : {0u, 1u}) {
    const vk::MemoryAccount account(limit - less);
    const StagePlan plan = plan_with_experts(needs_, layout_, {}, {account, false}, [&](bool) { return ranks; });
    EXPECT_EQ(plan.experts_on_host, 4u + less);
  }
}

// Others of an account leave before experts do, and experts where the others stay.
TEST_F(ExpertsOnHost, LeaveAfterOtherModels) {
  for (const bool leaves : {true, false}) {
    bool room = false;
    const vk::MemoryAccount account(0, [&](std::uint64_t) { return std::exchange(room, leaves) != leaves; });
    const auto devices = [&](bool alone) { return std::vector<StageDevice>{{"device 0", alone || room ? room_for(0) : room_for(9)}}; };
    EXPECT_EQ(plan_with_experts(needs_, layout_, {}, {account}, devices).experts_on_host, leaves ? 0u : 9u);
  }
}

TEST_F(ExpertsOnHost, HostMemoryIsCheckedToo) {
  constexpr std::uint64_t mib = 1 << 20;
  check_host_memory({.layers = 2, .experts = 30 * mib, .shared = 10 * mib, .available = 44 * mib});
  check_host_memory({.layers = 2, .experts = 30 * mib, .shared = 10 * mib, .available = 0});  // it is not known
  check_host_memory({.layers = 0, .experts = 0, .shared = 10 * mib, .available = 9 * mib});   // that is said of the device
  const fixtures::Failure own =
      fixtures::failure_of([] { check_host_memory({.layers = 2, .experts = 30 * mib, .shared = 0, .available = 29 * mib}); });
  EXPECT_EQ(own.code, Code::out_of_memory);
  EXPECT_NE(own.message.find("first 2 layers need 30.0 MiB of host memory, but 29 MiB are free"), std::string::npos) << own.message;
  const fixtures::Failure shared =
      fixtures::failure_of([] { check_host_memory({.layers = 2, .experts = 30 * mib, .shared = 10 * mib, .available = 39 * mib}); });
  EXPECT_EQ(shared.code, Code::out_of_memory);
  EXPECT_NE(shared.message.find("beside the 10.0 MiB that the device takes of it"), std::string::npos) << shared.message;
}

}  // namespace
}  // namespace skipstone::engine
