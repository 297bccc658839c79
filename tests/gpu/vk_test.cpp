// The Vulkan layer on a device: recording, hazards, replays, times.
#include "vk_fixture.h"

namespace skipstone::vk {
namespace {

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

TEST_F(Vk, OneSubmissionRunsRecordingsInOrderAndAgain) {
  Arena arena(device, Role::activations);
  auto pipeline = PipelineFactory(device, "").create(affine_spec());
  const Slice x = arena.allocate(256), y = arena.allocate(256);
  put(x, sequence(64));
  // x -> y = 2 x, y -> x = y + 1: (x + 1/2) doubles with every turn.
  const auto record = [&](const Slice& from, const Slice& to, std::uint32_t scale, std::uint32_t offset) {
    Recorder recorder(device);
    affine(recorder, *pipeline, from, to, scale, offset);
    return recorder.finish();
  };
  const Commands twice = record(x, y, 2, 0), plus = record(y, x, 1, 1);
  const Commands* turns[] = {&twice, &plus, &twice, &plus, &twice, &plus};
  Queue queue(device);
  queue.submit_and_wait(turns);
  queue.submit_and_wait(std::span(turns).first(2));
  const auto result = words(x);
  for (std::uint32_t i = 0; i < 64; ++i) ASSERT_EQ(result[i], 16 * (i + 1) + 15) << i;
  EXPECT_EQ(code_of([&] { queue.submit(std::span<const Commands* const>()); }), Code::internal);
}

TEST_F(Vk, ConditionsAreReadOnTheDevice) {
  Arena data(device, Role::activations), state(device, Role::state);
  auto pipeline = PipelineFactory(device, "").create(affine_spec());
  const Slice x = data.allocate(256), y = data.allocate(256), word = state.allocate(4);
  put(x, std::vector<std::uint32_t>(64, 0));
  if (!device->caps().conditional_dispatch) {
    Recorder recorder(device);
    EXPECT_EQ(code_of([&] { recorder.begin_condition(word); }), Code::internal);
    GTEST_SKIP() << "the device has no conditional dispatches";
  }
  // y = 7 and, where the word is set, y = 9; then the word becomes 0 on the device, and 1 in the recording after it.
  const auto record = [&](std::uint32_t next) {
    Recorder recorder(device);
    affine(recorder, *pipeline, x, y, 0, 7, "always");
    recorder.begin_condition(word);
    affine(recorder, *pipeline, x, y, 0, 9, "where it is set");
    recorder.end_condition();
    const std::array bindings{Binding{x, Access::read}, Binding{word, Access::write}};
    recorder.dispatch(*pipeline, bindings, bytes_of(AffinePush{1, 0, next}), 1, 1, 1, "next");
    return recorder.finish();
  };
  const Commands off = record(0), on = record(1);
  EXPECT_EQ(off.barriers(), 2u);  // one before the second write of y; one before the word is written, which the condition read
  Queue queue(device);
  const auto after = [&](std::initializer_list<const Commands*> recordings) {
    queue.submit_and_wait(std::span(recordings.begin(), recordings.size()));
    return words(y).front();
  };
  EXPECT_EQ(after({&on}), 7u);
  EXPECT_EQ(after({&off}), 9u);
  EXPECT_EQ(after({&off}), 7u);
  EXPECT_EQ(after({&on, &off}), 9u);
  EXPECT_EQ(after({&on, &off, &off}), 7u);

  Recorder recorder(device);
  EXPECT_EQ(code_of([&] { recorder.end_condition(); }), Code::internal);
  recorder.begin_condition(word);
  EXPECT_EQ(code_of([&] { recorder.begin_condition(word); }), Code::internal);
  EXPECT_EQ(code_of([&] { recorder.finish(); }), Code::internal);
  recorder.end_condition();
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

TEST_F(Vk, TimestampsNameEveryDispatch) {
  if (!device->caps().timestamps) GTEST_SKIP() << "the driver has no timestamps on its compute queue";
  constexpr std::size_t count = 1 << 16;
  constexpr std::uint32_t dispatches = 300;  // more than one query pool holds
  Arena arena(device, Role::activations);
  PipelineFactory factory(device, "");
  auto pipeline = factory.create(affine_spec());
  const Slice x = arena.allocate(count * 4), y = arena.allocate(count * 4), z = arena.allocate(256);
  Recorder recorder(device, Timestamps::dispatches);
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
