// The memory of a model's layers on several devices: room is made for all of them, and a limit is one for all.
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/model_loading.h"
#include "engine/stages.h"
#include "fixtures/failure.h"
#include "fixtures/system.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"

namespace skipstone::engine {
namespace {

EngineOptions options_for(const std::string& file) {
  EngineOptions options;
  options.model_path = file;
  options.devices = "0,0";
  return options;
}

class StagesMemory : public testing::Test {
 protected:
  static void SetUpTestSuite() { fixtures::set_variable("SKIPSTONE_SAME_DEVICE", "1"); }
};

// On the thread that loads, which has none of the models that leave: for all parts at once, before the first one is loaded.
TEST_F(StagesMemory, RoomIsMadeForAllParts) {
  const fixtures::TemporaryDirectory directory;
  fixtures::TinyConfig config;
  config.context = 1 << 15;
  fixtures::write_tiny_model(config, directory.file("tiny.gguf"));
  EngineOptions options = options_for(directory.file("tiny.gguf"));
  options.context = config.context;
  const auto alone = Engine::load(options);
  std::uint64_t held = alone->device_bytes_held(), planned = 0;
  for (const StageState& stage : alone->stages()) planned += stage.weights + stage.kv + stage.activations;
  ASSERT_GT(planned, held / 2);

  std::shared_ptr<Engine> other;
  std::mutex mutex;  // stages have threads of their own
  std::vector<std::thread::id> asked;
  const auto make_room = [&](std::uint64_t bytes) {
    const std::lock_guard lock(mutex);
    asked.push_back(std::this_thread::get_id());
    EXPECT_GE(bytes, planned);
    return std::exchange(other, nullptr) != nullptr;
  };
  const auto account = options.memory_account = std::make_shared<vk::MemoryAccount>(held * 3 / 2, make_room);
  other = Engine::load(options);
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(account->held(), other->device_bytes_held());
  const auto engine = Engine::load(options);
  EXPECT_EQ(asked, std::vector{std::this_thread::get_id()});
  EXPECT_EQ(account->held(), engine->device_bytes_held());

  // Nothing leaves for a model whose parts do not fit the limit together, though each does.
  options.memory_account = std::make_shared<vk::MemoryAccount>(planned * 3 / 4, make_room);
  asked.clear();
  try {
    Engine::load(options);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory) << error.what();
    EXPECT_NE(std::string(error.what()).find("together"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(asked.empty());
}

// One stage's cache grows after the other's: the limit ends the growth of the first, or of the second.
TEST_F(StagesMemory, MemoryLimitIsOneForAllStages) {
  const fixtures::TemporaryDirectory directory;
  fixtures::TinyConfig config;
  config.kv_heads = config.heads;
  config.head_dim = 64;
  config.context = 1024;
  fixtures::write_tiny_model(config, directory.file("tiny.gguf"));
  EngineOptions options = options_for(directory.file("tiny.gguf"));
  options.context = config.context;
  std::vector<text::Token> prompt(900, 5), expected;
  std::uint64_t planned = 0, kv = 0;
  {
    const auto free = Engine::load(options);
    Session first(free, SessionOptions{}), second(free, SessionOptions{});
    expected = first.generate(prompt, 8, {}).tokens;
    const std::uint64_t held = free->device_bytes_held();
    for (const StageState& stage : free->stages()) {
      kv += stage.kv;
      planned += stage.weights + stage.kv + stage.activations;
    }
    EXPECT_EQ(second.generate(prompt, 8, {}).tokens, expected);
    ASSERT_GT(free->device_bytes_held(), held);
  }
  for (const std::uint64_t more : {std::uint64_t{0}, kv / 2}) {
    options.memory_limit = planned + MemoryPlan::working_memory(planned) + more;
    const auto engine = Engine::load(options);
    Session first(engine, SessionOptions{}), second(engine, SessionOptions{});
    EXPECT_EQ(first.generate(prompt, 8, {}).tokens, expected);
    EXPECT_EQ(fixtures::failure_of([&] { second.prefill(prompt); }).code, Code::out_of_memory) << more;
    EXPECT_LE(engine->device_bytes_held(), options.memory_limit) << more;
    first.reset();
    EXPECT_EQ(first.generate(prompt, 8, {}).tokens, expected) << more;
  }
}

TEST_F(StagesMemory, IsItsShareOfTheDeviceWhereOthersLeave) {
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{1} << 60}) {
    EngineOptions options;
    options.memory_account = std::make_shared<vk::MemoryAccount>(limit);
    const std::shared_ptr<vk::Device> device = open_device(options);
    const vk::Caps& caps = device->caps();
    const std::uint64_t heap = caps.device_bytes();
    ASSERT_TRUE(options.memory_account->take(caps.device_uuid, 2 * heap));
    EXPECT_EQ(available_alone_to(*device, 1), heap);
    EXPECT_EQ(available_alone_to(*device, 2), caps.shares_system_memory() ? heap / 2 : heap);
    EXPECT_LE(available_to(*device, 2), heap);
    options.memory_account->give_back(caps.device_uuid, 2 * heap);
  }
}

}  // namespace
}  // namespace skipstone::engine
