// The Vulkan layer on a device: memory, uploads, pipelines and their cache, a lost device.
#include "fixtures/system.h"
#include "fixtures/temporary_directory.h"
#include "vk_fixture.h"

namespace skipstone::vk {
namespace {

TEST_F(Vk, UploadsAndDownloadsLargerThanTheStagingBuffer) {
  const std::size_t count = (40u << 20) / 4 + 3;  // two and a half turns of both halves, and a ragged end
  Arena arena(device, Role::kv);
  const Slice slice = arena.allocate(count * 4 + 64);
  EXPECT_EQ(slice.mapped, nullptr);
  const auto values = sequence(count);
  Uploader uploader(device);
  uploader.upload(std::as_bytes(std::span(values)), slice);
  std::vector<std::uint32_t> back(count + 16);
  uploader.download(slice, std::as_writable_bytes(std::span(back)));
  EXPECT_TRUE(std::equal(values.begin(), values.end(), back.begin()));
  EXPECT_TRUE(std::all_of(back.begin() + static_cast<std::ptrdiff_t>(count), back.end(), [](std::uint32_t word) { return word == 0; }));
  EXPECT_EQ(code_of([&] { uploader.upload(std::as_bytes(std::span(values)), slice.part(0, 64)); }), Code::internal);
}

TEST_F(Vk, MemoryIsZeroedAlignedAndCounted) {
  const std::uint64_t before = device->memory_allocated();
  {
    Arena weights(device, Role::weights), kv(device, Role::kv), readback(device, Role::readback), state(device, Role::state);
    std::vector<Slice> slices;
    for (Arena* arena : {&weights, &kv, &readback, &state}) {
      for (const std::uint64_t bytes : {1u, 100u, 70'000u}) slices.push_back(arena->allocate(bytes));
    }
    EXPECT_EQ(device->memory_allocated() - before, weights.allocated() + kv.allocated() + readback.allocated() + state.allocated());
    EXPECT_LE(device->memory_allocated() - before, 12u << 20);  // little is asked for, little is taken
    for (const Slice& slice : slices) EXPECT_EQ(slice.offset % std::max(64u, device->caps().storage_alignment), 0u);
    EXPECT_NE(slices[6].mapped, nullptr);
    EXPECT_NE(slices[9].mapped, nullptr);
    EXPECT_EQ(slices[0].mapped != nullptr, device->caps().unified_memory);
    for (const Slice& slice : slices) {
      std::vector<std::byte> bytes(slice.bytes, std::byte{1});
      Uploader(device).download(slice, bytes);
      EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; }));
    }
    EXPECT_FALSE(static_cast<bool>(kv.allocate(0)));
    EXPECT_EQ(code_of([&] { slices[0].part(1, 1); }), Code::internal);
  }
  EXPECT_EQ(device->memory_allocated(), before);
}

TEST_F(Vk, HostWeightsAreBesideTheLimitOfDeviceMemory) {
  const auto limited =
      Device::create(Shared::get().instance, Shared::get().choice(), {.memory = std::make_shared<MemoryAccount>(1u << 20)});
  {
    Arena arena(limited, Role::host_weights);
    const auto values = sequence(3u << 20);
    const Slice slice = arena.allocate(values.size() * 4);
    ASSERT_NE(slice.mapped, nullptr);
    Uploader(limited).upload(std::as_bytes(std::span(values)), slice);
    EXPECT_EQ(limited->memory_allocated(), 0u);
    EXPECT_EQ(limited->host_memory_allocated(), arena.allocated());
    EXPECT_EQ(code_of([&] { Arena(limited, Role::weights).allocate(2u << 20); }), Code::out_of_memory);

    // The device reads what the host has written there.
    Arena readback(limited, Role::readback, 64);
    const Slice copy = readback.allocate(64);
    Recorder recorder(limited);
    recorder.copy(slice.part(values.size() * 4 - 64, 64), copy);
    const Commands commands = recorder.finish();
    Queue(limited).submit_and_wait(commands);
    EXPECT_TRUE(std::equal(values.end() - 16, values.end(), words(copy).begin()));
  }
  EXPECT_EQ(limited->host_memory_allocated(), 0u);
  std::string message;
  EXPECT_EQ(code_of([&] { Arena(limited, Role::host_weights).allocate(std::uint64_t{1} << 50); }, &message), Code::out_of_memory);
  EXPECT_NE(message.find("weights in host memory"), std::string::npos) << message;
}

TEST_F(Vk, BlocksGrowWithWhatIsHeld) {
  Arena arena(device, Role::weights);
  std::uint64_t asked = 0;
  for (int i = 0; i < 60; ++i, asked += 500'000) arena.allocate(500'000);
  EXPECT_GE(arena.allocated(), asked);
  EXPECT_LE(arena.allocated(), asked + (12u << 20));
  Arena exact(device, Role::kv, 1 << 20);
  exact.allocate(100);
  EXPECT_EQ(exact.allocated(), 1u << 20);
}

TEST_F(Vk, TooMuchMemoryIsAnErrorWithNumbers) {
  for (const Role role : {Role::weights, Role::kv, Role::state}) {
    Arena arena(device, role);
    for (const std::uint64_t bytes : {std::uint64_t{1} << 50, device->caps().max_allocation + 1, ~std::uint64_t{0}}) {
      std::string message;
      EXPECT_EQ(code_of([&] { arena.allocate(bytes); }, &message), Code::out_of_memory);
      EXPECT_NE(message.find("MiB"), std::string::npos) << message;
    }
    EXPECT_TRUE(static_cast<bool>(arena.allocate(64)));  // still usable
  }
}

TEST_F(Vk, MemoryLimitIsNeverPassed) {
  constexpr std::uint64_t limit = 8u << 20;
  const auto limited = Device::create(Shared::get().instance, Shared::get().choice(), {.memory = std::make_shared<MemoryAccount>(limit)});
  Arena keep(limited, Role::state);
  keep.allocate(64);
  {
    Arena arena(limited, Role::kv);
    std::string message;
    std::uint64_t allocated = 0;
    while (code_of([&] { arena.allocate(700'000); }, &message) == Code::ok) {
      allocated += 700'000;
      ASSERT_LE(limited->memory_allocated(), limit);
    }
    EXPECT_GT(allocated, limit / 2);
    EXPECT_LE(limited->memory_allocated(), limit);
    EXPECT_NE(message.find(fmt::format("limit of 8.0 MiB, of which {:.1f} MiB are held",
                                       static_cast<double>(limited->memory_allocated()) / (1u << 20))),
              std::string::npos)
        << message;
    EXPECT_EQ(code_of([&] { arena.allocate(limit); }), Code::out_of_memory);
  }
  Arena again(limited, Role::kv);  // what was given back is there again
  again.allocate(2u << 20);
}

TEST_F(Vk, MemoryOfOthersIsNoMoreThanTheHeapHas) {
  const auto account = std::make_shared<MemoryAccount>(0);
  const auto device = Device::create(Shared::get().instance, Shared::get().choice(), {.memory = account});
  Arena arena(device, Role::state);
  arena.allocate(1u << 20);
  const std::uint64_t heap = device->caps().device_bytes(), own = device->memory_allocated();
  ASSERT_GT(own, 0u);
  ASSERT_TRUE(account->take(device->caps().device_uuid, 2 * heap));
  EXPECT_EQ(device->memory_available_alone(), heap - own);
  EXPECT_TRUE(device->could_have(heap - own));
  EXPECT_FALSE(device->could_have(heap)) << "its own memory stays";
  account->give_back(device->caps().device_uuid, 2 * heap);
}

TEST_F(Vk, LowPriorityIsTakenWhereItIs) {
  const auto low = Device::create(Shared::get().instance, Shared::get().choice(), {.low_priority = true});
  const Caps& caps = low->caps();
  const bool known = caps.has_extension("VK_KHR_global_priority") || caps.has_extension("VK_EXT_global_priority");
  EXPECT_TRUE(known || !low->low_priority());  // a driver that knows it may permit none
  EXPECT_FALSE(device->low_priority());
  Arena arena(low, Role::state);
  const Slice slice = arena.allocate(64);
  Recorder recorder(low);
  recorder.fill(slice, 5);
  const Commands commands = recorder.finish();
  Queue(low).submit_and_wait(commands);
  std::uint32_t word = 0;
  std::memcpy(&word, slice.mapped, 4);
  EXPECT_EQ(word, 5u);
}

TEST_F(Vk, OneDeviceServesSeveralThreads) {
  const std::uint64_t before = device->memory_allocated();
  {
    PipelineFactory factory(device, "");
    std::vector<std::jthread> threads;
    for (std::uint32_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::uint32_t turn = 0; turn < 8; ++turn) {
          const auto pipeline = factory.create(affine_spec(thread));
          Arena arena(device, Role::activations);
          const auto values = sequence(300);
          const Slice x = arena.allocate(values.size() * 4), y = arena.allocate(values.size() * 4);
          put(x, values);
          Recorder recorder(device);
          affine(recorder, *pipeline, x, y, 3, turn);
          const Commands commands = recorder.finish();
          Queue queue(device);
          const std::uint64_t value = queue.submit(commands);
          while (!queue.done(value)) std::this_thread::yield();
          EXPECT_EQ(words(y).back(), 3 * values.back() + turn + thread);
        }
      });
    }
  }
  EXPECT_EQ(device->memory_allocated(), before);
}

TEST_F(Vk, PipelinesAreCheckedBeforeTheDriverSeesThem) {
  PipelineFactory factory(device, "");
  PipelineSpec spec = affine_spec();
  spec.spirv = spec.spirv.first(3);
  EXPECT_EQ(code_of([&] { factory.create(spec); }), Code::internal);
  spec = affine_spec();
  spec.required_subgroup = 2 * device->caps().max_subgroup_size;
  std::string message;
  EXPECT_EQ(code_of([&] { factory.create(spec); }, &message), Code::unsupported);
  EXPECT_NE(message.find("affine"), std::string::npos) << message;
  spec = affine_spec();
  spec.push_bytes = device->caps().max_push_bytes + 4;
  EXPECT_EQ(code_of([&] { factory.create(spec); }), Code::unsupported);
  spec = affine_spec();
  spec.required_subgroup = device->caps().max_subgroup_size;
  EXPECT_NE(factory.create(spec), nullptr);
}

TEST_F(Vk, PipelineCacheSurvivesAndDamageIsIgnored) {
  namespace fs = std::filesystem;
  const fixtures::TemporaryDirectory temporary;  // of this process alone: ctest runs several at a time
  const fs::path directory = temporary.path();
  const std::string file = pipeline_cache_file((directory / "deeper").string(), device->caps(), 42);
  { PipelineFactory(device, file).create(affine_spec()); }
  ASSERT_TRUE(fs::exists(file));
  const auto written = fs::last_write_time(file);
  const auto size = fs::file_size(file);
  EXPECT_GT(size, 32u);
  {
    PipelineFactory factory(device, file);  // reads it; nothing new, so nothing is written again
    factory.save();
  }
  EXPECT_EQ(fs::last_write_time(file), written);

  const auto damage = [&](std::uint64_t at) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char changed = static_cast<char>(stream.get() ^ 0x5a);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(changed);
  };
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{20}, std::uint64_t{30}, size - 1}) {
    damage(at);
    auto pipeline = PipelineFactory(device, file).create(affine_spec());  // ends by writing a good file again
    EXPECT_NE(pipeline, nullptr);
    EXPECT_GE(fs::file_size(file), 32u);
  }
  fs::resize_file(file, size / 2);
  EXPECT_NE(PipelineFactory(device, file).create(affine_spec()), nullptr);
  fs::resize_file(file, 0);
  EXPECT_NE(PipelineFactory(device, file).create(affine_spec()), nullptr);
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(file).parent_path()), fs::directory_iterator()), 1);  // no temporary files left
  // A place that cannot be written costs the cache, nothing else.
  EXPECT_NE(PipelineFactory(device, "/proc/no/such/place").create(affine_spec()), nullptr);
}

TEST_F(Vk, LostDeviceIsReportedAndANewOneWorks) {
  fixtures::set_variable("SKIPSTONE_TEST_DEVICE_LOST", "3");
  auto doomed = Device::create(Shared::get().instance, Shared::get().choice());
  fixtures::unset_variable("SKIPSTONE_TEST_DEVICE_LOST");
  {
    Arena arena(doomed, Role::state);
    PipelineFactory factory(doomed, "");
    auto pipeline = factory.create(affine_spec());
    const Slice x = arena.allocate(64), y = arena.allocate(64);
    Recorder recorder(doomed);
    affine(recorder, *pipeline, x, y, 1, 1, "the last kernel");
    const Commands commands = recorder.finish();
    Queue queue(doomed);
    queue.submit_and_wait(commands);
    queue.submit_and_wait(commands);
    const std::uint64_t value = queue.submit(commands);
    std::string message;
    EXPECT_EQ(code_of([&] { queue.wait(value); }, &message), Code::device_lost);
    EXPECT_NE(message.find("the last kernel"), std::string::npos) << message;
    EXPECT_EQ(code_of([&] { queue.submit(commands); }), Code::device_lost);
    EXPECT_EQ(code_of([&] { queue.wait(value); }), Code::device_lost);
    EXPECT_EQ(code_of([&] { Arena(doomed, Role::kv).allocate(64); }), Code::device_lost);
  }
  doomed.reset();
  auto fresh = Device::create(Shared::get().instance, Shared::get().choice());
  Arena arena(fresh, Role::state);
  const Slice slice = arena.allocate(64);
  Recorder recorder(fresh);
  recorder.fill(slice, 5);
  const Commands commands = recorder.finish();
  Queue(fresh).submit_and_wait(commands);
  EXPECT_EQ(std::to_integer<int>(*slice.mapped), 5);
}

}  // namespace
}  // namespace skipstone::vk
