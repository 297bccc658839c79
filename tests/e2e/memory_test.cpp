// What a model takes beside its weights and its cache, and that it takes no more however much is generated.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/engine_state.h"
#include "fixtures/failure.h"
#include "fixtures/slow_device.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"

namespace skipstone::engine {
namespace {

TEST(Memory, BundledModelTakesLittleBesideWeightsAndCache) {
  EngineOptions options;
  options.model_path = std::string(SKIPSTONE_MODELS) + "/skipstone-py.gguf";
  const auto engine = Engine::load(options);
  SessionOptions how;
  how.draft = "exit:10,k=15";
  Session session(engine, how);
  std::vector<text::Token> prompt = engine->tokenizer().encode("def binary_search(items, target):", true, true);
  session.generate(prompt, 8, {});
  const MemoryPlan& plan = engine->memory();
  constexpr std::uint64_t most = std::uint64_t{64} << 20;
  EXPECT_LE(engine->device_bytes_held(), plan.weights + plan.kv + most);
  EXPECT_GE(engine->device_bytes_held(), plan.weights + plan.kv);
  EXPECT_LE(plan.activations, most);
}

/// Bytes of the process in memory; 0 where the system does not say.
std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return file ? resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

TEST(Memory, TenThousandTokensTakeNoMoreThanTheFirstThousand) {
  const fixtures::TemporaryDirectory directory;
  fixtures::TinyConfig tiny;
  tiny.layers = 2;
  tiny.heads = 2;
  tiny.kv_heads = 1;
  tiny.dim = 32;
  tiny.ffn = 32;
  tiny.context = 512;
  tiny.type = gguf::Type::f16;
  fixtures::write_tiny_model(tiny, directory.file("tiny.gguf"));
  EngineOptions options;
  options.model_path = directory.file("tiny.gguf");
  const auto engine = Engine::load(options);
  SessionOptions how;
  how.draft = "exit:1,k=6,gamma=0";
  Session session(engine, how);

  const auto generate = [&](std::int32_t text, std::uint32_t most) {
    const std::vector<text::Token> prompt(static_cast<std::size_t>(1 + text % 40), 5 + text % 90);
    session.reset();
    return session.generate(prompt, most, {}).tokens.size();
  };
  // Every length of a prompt, hence every row bucket, has its turn before the memory is read: drivers compile a pipeline's code where it
  // is first used, and that is no growth (SwiftShader keeps some 2 MiB for each bucket).
  for (std::int32_t text = 0; text < 40; ++text) generate(text, 24);

  // Texts that fill the context, one after the other.
  std::uint64_t tokens = 0, device = 0, resident = 0;
  for (std::int32_t text = 0; tokens < 10'000; ++text) {
    ASSERT_LT(text, 2000) << "the texts are too short";
    if (tokens >= 1000 && device == 0) {
      device = engine->device_bytes_held();
      resident = resident_bytes();
    }
    tokens += generate(text, 600);
  }
  ASSERT_GT(device, 0u);
  EXPECT_EQ(engine->device_bytes_held(), device);
  if (resident > 0) {
    // What allocators keep back wanders by a few MiB; 9000 tokens that each left 1 KiB would be more.
    EXPECT_LT(resident_bytes(), resident + (std::uint64_t{6} << 20));
  }
}

TEST(Memory, LimitIsPlannedAgainstAndNeverPassed) {
  const fixtures::TemporaryDirectory directory;
  fixtures::TinyConfig tiny;
  tiny.tied = false;
  tiny.context = 8192;
  tiny.type = gguf::Type::q8_0;
  fixtures::write_tiny_model(tiny, directory.file("tiny.gguf"));
  EngineOptions options;
  options.model_path = directory.file("tiny.gguf");
  options.context = tiny.context;
  std::vector<text::Token> expected;
  MemoryPlan plan;
  const auto generate = [](const std::shared_ptr<Engine>& engine, Session& session, std::uint64_t limit) {
    session.reset();
    return session
        .generate(engine->tokenizer().encode("the quick brown fox", true, false), 20,
                  [&](const auto&) {
                    EXPECT_LE(engine->device_bytes_held(), limit);
                    return true;
                  })
        .tokens;
  };
  {
    const auto engine = Engine::load(options);
    Session session(engine, {});
    expected = generate(engine, session, ~std::uint64_t{0});
    plan = engine->memory();
  }
  const std::uint64_t planned = plan.total() + plan.working();

  options.memory_limit = planned - 1;
  const fixtures::Failure refused = fixtures::failure_of([&] { Engine::load(options); });
  EXPECT_EQ(refused.code, Code::out_of_memory);
  EXPECT_NE(refused.message.find("the memory limit is"), std::string::npos) << refused.message;

  // Sessions share one context's pages. Where the second one would need more, it is refused, and the first continues.
  options.memory_limit = planned;
  ASSERT_GT(plan.kv, std::uint64_t{1} << 20);
  const auto engine = Engine::load(options);
  Session session(engine, {});
  EXPECT_EQ(generate(engine, session, options.memory_limit), expected);
  const fixtures::Failure second =
      fixtures::failure_of([&] { Session(engine, {}).prefill(std::vector<text::Token>(engine->config().context_trained, 5)); });
  EXPECT_EQ(second.code, Code::out_of_memory);
  EXPECT_NE(second.message.find("would pass the memory limit"), std::string::npos) << second.message;
  EXPECT_LE(engine->device_bytes_held(), options.memory_limit);
  EXPECT_EQ(generate(engine, session, options.memory_limit), expected);
}

TEST(Memory, EnginesOfAnAccountShareItsLimit) {
  const fixtures::TemporaryDirectory directory;
  fixtures::TinyConfig tiny;
  tiny.context = 8192;
  fixtures::write_tiny_model(tiny, directory.file("tiny.gguf"));
  EngineOptions options;
  options.model_path = directory.file("tiny.gguf");
  options.context = tiny.context;
  const MemoryPlan plan = Engine::load(options)->memory();
  const std::uint64_t limit = 2 * (plan.total() + plan.working());
  std::vector<std::shared_ptr<Engine>> others;
  std::uint64_t asked = 0;
  bool may_free = false;
  options.memory_account = std::make_shared<vk::MemoryAccount>(limit, [&](std::uint64_t bytes) {
    ++asked;
    EXPECT_LE(bytes, limit);
    if (!may_free || others.empty()) return false;
    others.erase(others.begin());
    return true;
  });
  others = {Engine::load(options), Engine::load(options)};
  EXPECT_EQ(asked, 0u);
  EXPECT_EQ(options.memory_account->held(), others[0]->device_bytes_held() + others[1]->device_bytes_held());

  // A third one is refused where none leaves, and takes the place of the first where it does.
  EXPECT_EQ(fixtures::failure_of([&] { Engine::load(options); }).code, Code::out_of_memory);
  EXPECT_EQ(asked, 1u);
  may_free = true;
  const auto third = Engine::load(options);
  EXPECT_EQ(others.size(), 1u);
  EXPECT_LE(options.memory_account->held(), limit);

  // So does a cache that grows.
  Session first(third, {}), second(third, {});
  const std::vector<text::Token> prompt(8000, 5);
  first.prefill(prompt);
  second.prefill(prompt);
  EXPECT_TRUE(others.empty());
  EXPECT_EQ(options.memory_account->held(), third->device_bytes_held());
  EXPECT_LE(options.memory_account->held(), limit);

  // Nothing makes room for more than the limit.
  const std::uint64_t before = asked;
  EXPECT_FALSE(options.memory_account->make_room(limit + 1));
  EXPECT_EQ(asked, before);
}

/// A tiny model whose KV cache has more bytes than the device, with a context of 2^20; nullopt where that takes too many layers.
std::optional<fixtures::TinyConfig> larger_than_the_device() {
  fixtures::TinyConfig large;
  large.ffn = 32;
  large.context = 1u << 20;
  const std::uint64_t kv_of_layer = std::uint64_t{2} * large.kv_heads * (large.dim / large.heads) * sizeof(std::uint16_t) * large.context;
  for (const DeviceEntry& entry : list_devices("")) {
    if (entry.chosen) large.layers = static_cast<std::uint32_t>(entry.caps.device_bytes() / kv_of_layer + 2);
  }
  return large.layers < 1000 ? std::optional(large) : std::nullopt;
}

TEST(Memory, NothingLeavesForAModelThatIsLargerThanTheDevice) {
  const fixtures::TemporaryDirectory directory;
  const auto large = larger_than_the_device();
  if (!large) GTEST_SKIP() << "the device has too much memory";
  fixtures::write_tiny_model({}, directory.file("tiny.gguf"));
  fixtures::write_tiny_model(*large, directory.file("large.gguf"));
  std::uint64_t asked = 0;
  EngineOptions options;
  options.memory_account = std::make_shared<vk::MemoryAccount>(0, [&](std::uint64_t) {
    ++asked;
    return false;
  });
  options.model_path = directory.file("tiny.gguf");
  const auto other = Engine::load(options);
  options.model_path = directory.file("large.gguf");
  options.context = large->context;
  const fixtures::Failure refused = fixtures::failure_of([&] { Engine::load(options); });
  EXPECT_EQ(refused.code, Code::out_of_memory) << refused.message;
  EXPECT_EQ(asked, 0u);
}

// A cache grows by half where there is memory for that. Other engines leave for the pages that are needed, and for no more.
TEST(Memory, NothingLeavesForMorePagesThanAreNeeded) {
  if (fixtures::slow_device()) GTEST_SKIP() << fixtures::left_to_the_sweep;
  const fixtures::TemporaryDirectory directory;
  fixtures::TinyConfig tiny;
  tiny.kv_heads = tiny.heads;
  tiny.head_dim = 64;
  tiny.context = 2048;
  fixtures::write_tiny_model(tiny, directory.file("tiny.gguf"));
  std::uint64_t asked = 0;
  EngineOptions options;
  options.model_path = directory.file("tiny.gguf");
  options.context = tiny.context;
  options.memory_account = std::make_shared<vk::MemoryAccount>(std::uint64_t{1} << 30, [&](std::uint64_t) {
    ++asked;
    return false;
  });
  const auto engine = Engine::load(options);
  const std::vector<text::Token> prompt(1900, 5);
  Session first(engine, {}), second(engine, {});
  first.prefill(prompt);
  second.prefill(std::vector<text::Token>(20, 5));
  const std::shared_ptr<vk::MemoryAccount> account = options.memory_account;
  const vk::MemoryAccount::DeviceId other{1};
  const std::uint64_t kv = engine->memory().kv;
  ASSERT_GT(kv, std::uint64_t{2} << 20);

  const auto leave = [&](std::uint64_t bytes) { ASSERT_TRUE(account->take(other, account->left() - bytes)); };
  leave(kv + kv * 3 / 8);
  EXPECT_EQ(account->held_on(other) + engine->device_bytes_held(), account->held());
  second.prefill(std::vector<text::Token>(250, 5));
  EXPECT_EQ(asked, 0u);
  EXPECT_LT(engine->state().passes->cache().pool(exec::MemoryKind::full).use().pages, 2048 / KV_PAGE * 3 / 2);

  leave(kv / 2);
  const std::vector<text::Token> more(1500, 5);
  EXPECT_EQ(fixtures::failure_of([&] { second.prefill(more); }).code, Code::out_of_memory);
  EXPECT_EQ(asked, 1u);

  // Nor for pages that have no room even if all others leave.
  const MemoryPlan plan = engine->memory();
  options.memory_account = std::make_shared<vk::MemoryAccount>(plan.total() + plan.working() + kv / 4, [&](std::uint64_t) {
    ++asked;
    return false;
  });
  const auto limited = Engine::load(options);
  Session third(limited, {}), fourth(limited, {});
  third.prefill(prompt);
  EXPECT_EQ(fixtures::failure_of([&] { fourth.prefill(more); }).code, Code::out_of_memory);
  EXPECT_EQ(asked, 1u);
}

}  // namespace
}  // namespace skipstone::engine
