// The Vulkan layer on a real driver. Fails where there is none: the test suite's setup installs one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/log.h"
#include "base/status.h"
#include "vk/device.h"
#include "vk/memory.h"
#include "vk/pipeline.h"
#include "vk/recorder.h"

namespace skipstone::vk {
namespace {

const std::uint32_t affine_spirv[] = {
#include "vk_affine.inc"
};
const std::uint32_t counts_spirv[] = {
#include "vk_counts.inc"
};

constexpr std::uint32_t group_size = 32;

/// One instance and device for the whole program, with the validation layers where they are installed.
struct Shared {
  std::shared_ptr<Instance> instance;
  std::shared_ptr<Device> device;
  bool validation = true;

  Shared() {
    try {
      instance = Instance::create(true);
    } catch (const Error& error) {
      if (error.code() != Code::unsupported) throw;
      validation = false;
      instance = Instance::create(false);
    }
    device = Device::create(instance, choice());
  }
  std::uint32_t choice() const {
    return choose_device(
               instance->devices(), [this](std::uint32_t index) { return instance->unsuitable(index); }, "")
        .index;
  }
  static Shared& get() {
    static Shared shared;
    return shared;
  }
};

struct AffinePush {
  std::uint32_t count, scale, offset;
};

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

class Vk : public ::testing::Test {
 protected:
  void SetUp() override {
    device = Shared::get().device;
    messages_before = Shared::get().instance->validation_messages();
  }
  void TearDown() override { EXPECT_EQ(Shared::get().instance->validation_messages(), messages_before); }

  static PipelineSpec affine_spec(std::uint32_t extra = 0) {
    PipelineSpec spec;
    spec.name = "affine";
    spec.spirv = affine_spirv;
    spec.bindings = 2;
    spec.push_bytes = sizeof(AffinePush);
    spec.constants = {group_size, extra};
    return spec;
  }

  static Code code_of(const std::function<void()>& call, std::string* message = nullptr) {
    try {
      call();
    } catch (const Error& error) {
      if (message != nullptr) *message = error.what();
      return error.code();
    }
    return Code::ok;
  }

  static void affine(Recorder& recorder, const Pipeline& pipeline, const Slice& x, const Slice& y, std::uint32_t scale,
                     std::uint32_t offset, const char* label = "affine") {
    const auto count = static_cast<std::uint32_t>(x.bytes / 4);
    const std::array bindings{Binding{x, Access::read}, Binding{y, Access::write}};
    recorder.dispatch(pipeline, bindings, bytes_of(AffinePush{count, scale, offset}), (count + group_size - 1) / group_size, 1, 1, label);
  }

  static std::vector<std::uint32_t> words(const Slice& slice) {
    std::vector<std::uint32_t> values(slice.bytes / 4);
    Uploader(Shared::get().device).download(slice, std::as_writable_bytes(std::span(values)));
    return values;
  }

  static void put(const Slice& slice, const std::vector<std::uint32_t>& values) {
    Uploader(Shared::get().device).upload(std::as_bytes(std::span(values)), slice);
  }

  static std::vector<std::uint32_t> sequence(std::size_t count) {
    std::vector<std::uint32_t> values(count);
    std::iota(values.begin(), values.end(), 1u);
    return values;
  }

  std::shared_ptr<Device> device;
  std::uint64_t messages_before = 0;
};

TEST_F(Vk, CapsAreFilledIn) {
  const Caps& caps = device->caps();
  EXPECT_FALSE(caps.name.empty());
  EXPECT_FALSE(caps.driver_name.empty());
  EXPECT_TRUE(caps.timeline_semaphore);
  EXPECT_GE(caps.subgroup_size, 4u);
  EXPECT_LE(caps.min_subgroup_size, caps.subgroup_size);
  EXPECT_GE(caps.max_subgroup_size, caps.subgroup_size);
  EXPECT_GT(caps.device_bytes(), 0u);
  EXPECT_GE(caps.max_storage_range, 128u << 20);
  EXPECT_TRUE(std::is_sorted(caps.extensions.begin(), caps.extensions.end()));
  EXPECT_GE(device->tuning().lanes, 4u);
  EXPECT_EQ(messages_before, 0u);  // making instance and device said nothing either
  RecordProperty("device", caps.name);
}

TEST_F(Vk, InstancesAndDevicesCoexist) {
  auto second_instance = Instance::create(false);
  auto second = Device::create(second_instance, Shared::get().choice());
  second_instance.reset();
  PipelineFactory factory(second, "");
  auto pipeline = factory.create(affine_spec());
  Arena arena(second, Role::state);
  const Slice x = arena.allocate(64), y = arena.allocate(64);
  std::memset(x.mapped, 1, 64);
  Recorder recorder(second);
  affine(recorder, *pipeline, x, y, 2, 0);
  const Commands commands = recorder.finish();
  Queue(second).submit_and_wait(commands);
  std::uint32_t word = 0;
  std::memcpy(&word, y.mapped, 4);
  EXPECT_EQ(word, 0x02020202u);
}

TEST_F(Vk, DispatchComputes) {
  Arena arena(device, Role::activations);
  PipelineFactory factory(device, "");
  auto pipeline = factory.create(affine_spec(1000));
  const auto values = sequence(1001);  // not a multiple of the workgroup
  const Slice x = arena.allocate(values.size() * 4), y = arena.allocate(values.size() * 4);
  put(x, values);
  Recorder recorder(device);
  affine(recorder, *pipeline, x, y, 3, 5);
  const Commands commands = recorder.finish();
  EXPECT_EQ(commands.dispatches(), 1u);
  Queue(device).submit_and_wait(commands);
  const auto result = words(y);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(result[i], 3 * values[i] + 1005) << i;
}

TEST_F(Vk, BarriersStandOnlyWhereRangesMeet) {
  constexpr std::size_t count = 4096, steps = 16;
  Arena arena(device, Role::activations);
  PipelineFactory factory(device, "");
  auto pipeline = factory.create(affine_spec());
  std::vector<Slice> slices;
  for (std::size_t i = 0; i <= steps; ++i) slices.push_back(arena.allocate(count * 4));
  put(slices[0], sequence(count));

  Recorder chain(device);
  for (std::size_t i = 0; i < steps; ++i) affine(chain, *pipeline, slices[i], slices[i + 1], 1, 1);
  const Commands dependent = chain.finish();
  EXPECT_EQ(dependent.barriers(), steps - 1);

  Recorder fan(device);
  for (std::size_t i = 0; i < steps; ++i) affine(fan, *pipeline, slices[0], slices[i + 1], 1, static_cast<std::uint32_t>(i));
  const Commands independent = fan.finish();
  EXPECT_EQ(independent.barriers(), 0u);

  Queue queue(device);
  queue.submit_and_wait(dependent);
  const auto last = words(slices[steps]);
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(last[i], i + 1 + steps);
  queue.submit_and_wait(independent);
  for (std::size_t i = 0; i < steps; ++i) EXPECT_EQ(words(slices[i + 1])[7], 8 + i);
}

TEST_F(Vk, ReplaysAreOrderedAfterOneAnother) {
  constexpr std::size_t count = 2048;
  Arena arena(device, Role::activations), state(device, Role::state);
  PipelineFactory factory(device, "");
  auto pipeline = factory.create(affine_spec());
  const Slice x = arena.allocate(count * 4), y = arena.allocate(count * 4), seen = state.allocate(count * 4);
  ASSERT_NE(seen.mapped, nullptr);
  Recorder forth(device), back(device);
  affine(forth, *pipeline, x, y, 1, 1);
  const Commands first = forth.finish();
  affine(back, *pipeline, y, x, 1, 0);
  back.copy(x, seen);
  const Commands second = back.finish();
  EXPECT_EQ(second.barriers(), 1u);
  Queue queue(device);
  std::uint64_t value = 0;
  for (int i = 0; i < 100; ++i) {
    queue.submit(first);
    const std::uint64_t next = queue.submit(second);
    EXPECT_GT(next, value);
    value = next;
  }
  queue.wait(value);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, seen.mapped + 4 * i, 4);
    ASSERT_EQ(word, 100u) << i;
  }
}

TEST_F(Vk, IndirectCountsComeFromTheDevice) {
  constexpr std::size_t count = 8 * group_size;
  Arena arena(device, Role::activations);
  PipelineFactory factory(device, "");
  auto pipeline = factory.create(affine_spec());
  PipelineSpec spec;
  spec.name = "counts";
  spec.spirv = counts_spirv;
  spec.bindings = 1;
  spec.push_bytes = 4;
  auto counts_pipeline = factory.create(spec);
  const Slice x = arena.allocate(count * 4), y = arena.allocate(count * 4), counts = arena.allocate(12);
  put(x, sequence(count));
  for (const std::uint32_t groups : {0u, 3u, 8u}) {
    Recorder recorder(device);
    recorder.fill(y, 0);
    const std::array written{Binding{counts, Access::write}};
    recorder.dispatch(*counts_pipeline, written, bytes_of(groups), 1, 1, 1, "counts");
    const std::array bindings{Binding{x, Access::read}, Binding{y, Access::write}};
    recorder.dispatch_indirect(*pipeline, bindings, bytes_of(AffinePush{count, 2, 0}), counts, "affine");
    const Commands commands = recorder.finish();
    EXPECT_EQ(commands.dispatches(), 2u);
    EXPECT_EQ(commands.barriers(), 1u);  // one, for the fill and the counts together
    Queue(device).submit_and_wait(commands);
    const auto result = words(y);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(result[i], i < groups * group_size ? 2 * (i + 1) : 0) << groups << " " << i;
  }
}

TEST_F(Vk, CopyAndFillAreTracked) {
  Arena arena(device, Role::kv);
  const Slice a = arena.allocate(4096), b = arena.allocate(4096), c = arena.allocate(4096);
  Recorder recorder(device);
  recorder.fill(a, 0xabcd0123);
  recorder.fill(c, 7);
  recorder.copy(a, b);                               // waits for the fill
  recorder.fill(a.part(1024, 1024), 9);              // overwrites what the copy reads
  recorder.copy(c.part(0, 256), b.part(2048, 256));  // overwrites what the copy wrote; ordered by the barrier before
  const Commands commands = recorder.finish();
  EXPECT_EQ(commands.barriers(), 2u);
  EXPECT_EQ(commands.dispatches(), 0u);
  Queue(device).submit_and_wait(commands);
  const auto in_a = words(a), in_b = words(b);
  EXPECT_EQ(in_a[0], 0xabcd0123u);
  EXPECT_EQ(in_a[256], 9u);
  EXPECT_EQ(in_a[512], 0xabcd0123u);
  EXPECT_EQ(in_b[256], 0xabcd0123u);
  EXPECT_EQ(in_b[512], 7u);
  EXPECT_EQ(in_b[1023], 0xabcd0123u);
}

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

TEST_F(Vk, WrongUseOfTheRecorderIsAnError) {
  Arena arena(device, Role::activations);
  PipelineFactory factory(device, "");
  auto pipeline = factory.create(affine_spec());
  const Slice x = arena.allocate(4096), y = arena.allocate(4096);
  const AffinePush push{16, 1, 0};
  const std::array one{Binding{x, Access::read}};
  const std::array both{Binding{x, Access::read}, Binding{y, Access::write}};
  const std::array unaligned{Binding{x.part(1, 64), Access::read}, Binding{y, Access::write}};
  const std::array empty{Binding{x, Access::read}, Binding{Slice{}, Access::write}};
  Recorder recorder(device);
  const auto dispatch = [&](std::span<const Binding> bindings, std::span<const std::byte> bytes, std::uint32_t groups) {
    return code_of([&] { recorder.dispatch(*pipeline, bindings, bytes, groups, 1, 1, "affine"); });
  };
  EXPECT_EQ(dispatch(one, bytes_of(push), 1), Code::internal);
  EXPECT_EQ(dispatch(both, bytes_of(push).first(8), 1), Code::internal);
  EXPECT_EQ(dispatch(empty, bytes_of(push), 1), Code::internal);
  if (device->caps().storage_alignment > 1) {
    EXPECT_EQ(dispatch(unaligned, bytes_of(push), 1), Code::internal);
  }
  if (device->caps().max_workgroup_count[0] < ~0u) {
    EXPECT_EQ(dispatch(both, bytes_of(push), device->caps().max_workgroup_count[0] + 1), Code::internal);
  }
  EXPECT_EQ(code_of([&] { recorder.copy(x, y.part(0, 64)); }), Code::internal);
  EXPECT_EQ(code_of([&] { recorder.fill(y.part(2, 4), 0); }), Code::internal);
  EXPECT_EQ(code_of([&] { recorder.dispatch_indirect(*pipeline, both, bytes_of(push), x.part(0, 8), "affine"); }), Code::internal);
  EXPECT_EQ(dispatch(both, bytes_of(push), 1), Code::ok);
  const Commands commands = recorder.finish();
  EXPECT_EQ(commands.dispatches(), 1u);
  EXPECT_EQ(dispatch(both, bytes_of(push), 1), Code::internal);
  EXPECT_EQ(code_of([&] { recorder.finish(); }), Code::internal);
  EXPECT_EQ(code_of([&] { Queue(device).wait(1); }), Code::internal);
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

TEST_F(Vk, TimestampsNameEveryDispatch) {
  if (!device->caps().timestamps) GTEST_SKIP() << "the driver has no timestamps on its compute queue";
  constexpr std::size_t count = 1 << 16;
  constexpr std::uint32_t dispatches = 300;  // more than one query pool holds
  Arena arena(device, Role::activations);
  PipelineFactory factory(device, "");
  auto pipeline = factory.create(affine_spec());
  const Slice x = arena.allocate(count * 4), y = arena.allocate(count * 4), z = arena.allocate(256);
  Recorder recorder(device, true);
  for (std::uint32_t i = 0; i < dispatches; ++i) affine(recorder, *pipeline, x, i == 7 ? z : y, 1, i, i == 7 ? "seven" : "other");
  const Commands commands = recorder.finish();
  EXPECT_EQ(commands.barriers(), dispatches - 1);
  Queue queue(device);
  queue.submit_and_wait(commands);
  queue.submit_and_wait(commands);
  const auto times = commands.times();
  ASSERT_EQ(times.size(), dispatches);
  EXPECT_EQ(times[7].label, "seven");
  double sum = 0;
  for (const LabelTime& time : times) {
    EXPECT_GE(time.microseconds, 0);
    sum += time.microseconds;
  }
  EXPECT_GT(sum, 0);
  EXPECT_LT(sum, 60e6);
}

TEST_F(Vk, PipelineCacheSurvivesAndDamageIsIgnored) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::path(::testing::TempDir()) / ("skipstone-vk-" + std::to_string(std::rand()));
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
  fs::remove_all(directory);
}

TEST_F(Vk, LostDeviceIsReportedAndANewOneWorks) {
  ASSERT_EQ(::setenv("SKIPSTONE_TEST_DEVICE_LOST", "3", 1), 0);
  auto doomed = Device::create(Shared::get().instance, Shared::get().choice());
  ASSERT_EQ(::unsetenv("SKIPSTONE_TEST_DEVICE_LOST"), 0);
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

TEST_F(Vk, ValidationSeesWhatIsWrong) {
  if (!Shared::get().validation) GTEST_SKIP() << "VK_LAYER_KHRONOS_validation is not installed";
  // Silence means something only if the layers speak up.
  log::set_level(log::Level::error);
  auto instance = Instance::create(true);
  auto own = Device::create(instance, Shared::get().choice());
  EXPECT_EQ(instance->validation_messages(), 0u);
  PipelineFactory factory(own, "");
  PipelineSpec spec = affine_spec();
  spec.push_bytes = 8;  // the kernel has twelve
  const Code code = code_of([&] { factory.create(spec); });
  log::set_level(log::Level::warning);
  EXPECT_TRUE(code == Code::ok || code == Code::unsupported);
  EXPECT_GT(instance->validation_messages(), 0u);
}

}  // namespace
}  // namespace skipstone::vk
