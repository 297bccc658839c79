// Device choice, tuning, quirks and hazard tracking: everything of the Vulkan layer that needs no device.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/platform/system.h"
#include "base/status.h"
#include "vk/device.h"
#include "vk/hazard_tracker.h"
#include "vk/pipeline.h"

namespace skipstone::vk {
namespace {

constexpr std::uint64_t gib = 1u << 30;

Caps device(std::uint32_t index, const char* name, DeviceKind kind, std::uint64_t bytes) {
  Caps caps;
  caps.index = index;
  caps.name = name;
  caps.kind = kind;
  caps.heaps = {{8 * gib * 16, 8 * gib * 16, false}, {bytes, bytes, true}};  // the host's heap does not count
  caps.subgroup_size = caps.min_subgroup_size = caps.max_subgroup_size = 32;
  caps.max_workgroup_invocations = 1024;
  caps.max_workgroup_size = {1024, 1024, 64};
  return caps;
}

std::string all_suitable(std::uint32_t) { return {}; }

Code code_of(const std::vector<Caps>& devices, const std::function<std::string(std::uint32_t)>& unsuitable, const std::string& wanted,
             std::string* message = nullptr) {
  try {
    choose_device(devices, unsuitable, wanted);
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
  return Code::ok;
}

TEST(DeviceChoice, PrefersKindsInOrder) {
  std::vector<Caps> devices = {device(0, "llvmpipe", DeviceKind::cpu, 64 * gib), device(1, "virtio", DeviceKind::virtual_gpu, 16 * gib),
                               device(2, "UHD 770", DeviceKind::integrated, 32 * gib),
                               device(3, "RTX 4060", DeviceKind::discrete, 8 * gib)};
  for (const std::uint32_t best : {3u, 2u, 1u, 0u}) {
    EXPECT_EQ(choose_device(devices, all_suitable, "").index, best);
    devices.pop_back();
    std::rotate(devices.begin(), devices.begin() + (devices.empty() ? 0 : 1), devices.end());  // the order of the list must not matter
    std::sort(devices.begin(), devices.end(), [](const Caps& a, const Caps& b) { return a.index < b.index; });
  }
}

TEST(DeviceChoice, MoreMemoryWinsAmongEqualsAndTheFirstAmongTwins) {
  const std::vector<Caps> devices = {device(0, "A", DeviceKind::discrete, 8 * gib), device(1, "B", DeviceKind::discrete, 24 * gib),
                                     device(2, "C", DeviceKind::discrete, 24 * gib)};
  const ChosenDevice choice = choose_device(devices, all_suitable, "");
  EXPECT_EQ(choice.index, 1u);
  EXPECT_EQ(choice.reason, "discrete GPU with the most memory");
}

TEST(DeviceChoice, SkipsUnsuitableDevices) {
  const std::vector<Caps> devices = {device(0, "old GPU", DeviceKind::discrete, 8 * gib), device(1, "llvmpipe", DeviceKind::cpu, 8 * gib)};
  const auto first_is_bad = [](std::uint32_t index) { return index == 0 ? std::string("it has no timeline semaphores") : std::string(); };
  EXPECT_EQ(choose_device(devices, first_is_bad, "").index, 1u);
  std::string message;
  EXPECT_EQ(code_of(devices, first_is_bad, "old", &message), Code::no_device);
  EXPECT_NE(message.find("timeline semaphores"), std::string::npos) << message;
  EXPECT_EQ(code_of(devices, first_is_bad, "0"), Code::no_device);
  const auto all_bad = [](std::uint32_t index) { return "reason " + std::to_string(index); };
  EXPECT_EQ(code_of(devices, all_bad, "", &message), Code::no_device);
  EXPECT_NE(message.find("reason 0"), std::string::npos) << message;
  EXPECT_NE(message.find("reason 1"), std::string::npos) << message;
  EXPECT_EQ(code_of({}, all_suitable, ""), Code::no_device);
}

TEST(DeviceChoice, ByNumberOrPartOfTheName) {
  const std::vector<Caps> devices = {device(0, "NVIDIA GeForce RTX 4090", DeviceKind::discrete, 24 * gib),
                                     device(1, "NVIDIA GeForce RTX 3070", DeviceKind::discrete, 8 * gib),
                                     device(2, "llvmpipe (LLVM 15.0.6, 256 bits)", DeviceKind::cpu, 8 * gib)};
  EXPECT_EQ(choose_device(devices, all_suitable, "1").index, 1u);
  EXPECT_EQ(choose_device(devices, all_suitable, "LLVMpipe").index, 2u);
  EXPECT_EQ(choose_device(devices, all_suitable, "rtx 3070").index, 1u);
  EXPECT_EQ(choose_device(devices, all_suitable, "4090").index, 0u);  // a number, but of no device: a part of a name
  std::string message;
  EXPECT_EQ(code_of(devices, all_suitable, "rtx", &message), Code::not_found);
  EXPECT_NE(message.find("4090"), std::string::npos) << message;
  EXPECT_NE(message.find("3070"), std::string::npos) << message;
  EXPECT_EQ(message.find("llvmpipe"), std::string::npos) << message;
  EXPECT_EQ(code_of(devices, all_suitable, "radeon", &message), Code::not_found);
  EXPECT_NE(message.find("llvmpipe"), std::string::npos) << message;
  EXPECT_EQ(code_of(devices, all_suitable, "7"), Code::not_found);
}

TEST(Tuning, FollowsTheDevice) {
  Caps lavapipe = device(0, "llvmpipe", DeviceKind::cpu, 2 * gib);
  lavapipe.subgroup_size = lavapipe.min_subgroup_size = lavapipe.max_subgroup_size = 8;
  lavapipe.subgroup_shuffle = true;
  lavapipe.max_storage_range = 1u << 27;
  lavapipe.max_texels = 1u << 27;
  Tuning tuning = tuning_for(lavapipe);
  EXPECT_EQ(tuning.lanes, 8u);
  EXPECT_EQ(tuning.wide_lanes, 8u);
  EXPECT_TRUE(tuning.texels);
  EXPECT_EQ(tuning.matvec_row_lanes, 8u);
  EXPECT_EQ(tuning.matvec_k_lanes, 1u);
  EXPECT_FALSE(tuning.tiled_prefill);

  Caps small_texels = lavapipe;  // SwiftShader
  small_texels.max_texels = 1u << 16;
  EXPECT_FALSE(tuning_for(small_texels).texels);
  EXPECT_EQ(tuning_for(small_texels).matvec_k_lanes, 1u);
  Caps no_shuffle = lavapipe;
  no_shuffle.subgroup_shuffle = false;
  tuning = tuning_for(no_shuffle);
  EXPECT_EQ(tuning.matvec_k_lanes, 8u);
  EXPECT_FALSE(tuning.texels);

  Caps intel = device(0, "Arc", DeviceKind::discrete, 16 * gib);
  intel.vendor_id = 0x8086;
  intel.min_subgroup_size = 8;
  EXPECT_EQ(tuning_for(intel).lanes, 16u);
  intel.min_subgroup_size = 32;
  EXPECT_EQ(tuning_for(intel).lanes, 32u);

  Caps amd = device(0, "RX 7900", DeviceKind::discrete, 24 * gib);
  amd.vendor_id = 0x1002;
  EXPECT_EQ(tuning_for(amd).lanes, 32u);
  amd.max_subgroup_size = 64;
  tuning = tuning_for(amd);
  EXPECT_EQ(tuning.lanes, 64u);
  EXPECT_EQ(tuning.matvec_row_lanes * tuning.matvec_k_lanes, tuning.lanes);
  EXPECT_EQ(tuning.wide_lanes, 256u);
  amd.max_workgroup_invocations = 128;
  EXPECT_EQ(tuning_for(amd).wide_lanes, 128u);

  Caps other = device(0, "Mali", DeviceKind::integrated, 4 * gib);
  other.subgroup_size = other.min_subgroup_size = other.max_subgroup_size = 128;
  EXPECT_EQ(tuning_for(other).lanes, 64u);
}

TEST(Quirks, TakeTheFp16TierFromTheDriverThatGetsItWrong) {
  Caps caps = device(0, "AMD Radeon RX 580", DeviceKind::discrete, 8 * gib);
  caps.vendor_id = 0x1002;
  caps.fp16 = caps.storage16 = true;
  caps.driver_name = "radv";
  apply_quirks(caps);
  EXPECT_TRUE(quirks_for(caps).empty());
  EXPECT_EQ(caps.tier(), Tier::fp16);
  caps.driver_name = "AMD proprietary driver";
  apply_quirks(caps);
  EXPECT_EQ(caps.tier(), Tier::base);
  const auto quirks = quirks_for(caps);  // still listed after it took effect
  ASSERT_EQ(quirks.size(), 2u);
  for (const Quirk& quirk : quirks) EXPECT_NE(quirk.reason.find("https://"), std::string::npos);
}

// A card whose memory the host sees has memory of its own all the same.
TEST(Caps, SayWhetherTheDevicesMemoryIsTheSystems) {
  const auto shares = [](DeviceKind kind, bool visible, bool host_heap) {
    Caps caps = device(0, "GPU", kind, 8 * gib);
    caps.unified_memory = visible;
    if (!host_heap) caps.heaps.erase(caps.heaps.begin());
    return caps.shares_system_memory();
  };
  for (const bool visible : {false, true}) {
    EXPECT_FALSE(shares(DeviceKind::discrete, visible, true));
    EXPECT_TRUE(shares(DeviceKind::discrete, visible, false));
    EXPECT_TRUE(shares(DeviceKind::integrated, visible, true));
    EXPECT_TRUE(shares(DeviceKind::cpu, visible, true));
  }
}

TEST(Quirks, PlanAgainstTheSystemsMemoryWhereLavapipeSaysTooLittle) {
  const auto planned = [](const char* driver, const char* info) {
    Caps caps = device(0, "llvmpipe (LLVM 15.0.6, 256 bits)", DeviceKind::cpu, 2 * gib);
    caps.driver_name = driver;
    caps.driver_info = info;
    apply_quirks(caps);
    EXPECT_EQ(quirks_for(caps).size() == 1, caps.device_bytes() != 2 * gib) << driver << " " << info;
    return caps.device_bytes();
  };
  const std::uint64_t system = skipstone::platform::machine().memory_bytes;
  ASSERT_NE(system, 2 * gib);
  EXPECT_EQ(planned("llvmpipe", "Mesa 22.3.6 (LLVM 15.0.6)"), system);
  EXPECT_EQ(planned("llvmpipe", "Mesa 23.0.4"), system);
  for (const char* other : {"Mesa 23.1.0 (LLVM 15.0.6)", "Mesa 26.2.6", "", "Mesa", "Mesa ", "Mesa 22", "Mesa 22.", "22.3.6"}) {
    EXPECT_EQ(planned("llvmpipe", other), 2 * gib) << other;
  }
  EXPECT_EQ(planned("SwiftShader driver", "Mesa 22.3.6"), 2 * gib);
}

TEST(Quirks, TakeCooperativeMatricesWhereTheyAreEmulatedOrSlow) {
  const auto left = [](std::uint32_t vendor, const char* driver, std::uint32_t min_subgroup) {
    Caps caps = device(0, "GPU", DeviceKind::discrete, 8 * gib);
    caps.vendor_id = vendor;
    caps.driver_name = driver;
    caps.min_subgroup_size = min_subgroup;
    caps.fp16 = caps.storage16 = true;
    caps.cooperative_matrix = {16, 16, 16};
    caps.extensions = {"VK_EXT_memory_budget", "VK_KHR_cooperative_matrix"};
    apply_quirks(caps);
    EXPECT_EQ(caps.extensions.size() == 2, caps.cooperative_matrix.exists());  // or the driver would still be asked
    return caps.tier();
  };
  EXPECT_EQ(left(0x1002, "radv", 32), Tier::cooperative_matrix);
  EXPECT_EQ(left(0x1002, "AMD proprietary driver", 32), Tier::base);
  EXPECT_EQ(left(0x8086, "Intel open-source Mesa driver", 8), Tier::fp16);                 // Arc A
  EXPECT_EQ(left(0x8086, "Intel open-source Mesa driver", 16), Tier::cooperative_matrix);  // Xe2
  EXPECT_EQ(left(0x10de, "NVIDIA", 32), Tier::cooperative_matrix);
}

TEST(Tuning, PromptsTakeMatrixUnitsWhereTheyAreFast) {
  const auto prefill = [](DeviceKind kind, std::uint32_t vendor) {
    Caps caps = device(0, "GPU", kind, 8 * gib);
    caps.vendor_id = vendor;
    return tuning_for(caps).prefill;
  };
  for (const std::uint32_t vendor : {0x10deu, 0x1002u, 0x8086u}) EXPECT_EQ(prefill(DeviceKind::discrete, vendor), Tier::cooperative_matrix);
  for (const std::uint32_t vendor : {0x13b5u, 0x5143u}) EXPECT_EQ(prefill(DeviceKind::integrated, vendor), Tier::base);
  EXPECT_EQ(prefill(DeviceKind::integrated, 0x106b), Tier::fp16);
  EXPECT_EQ(prefill(DeviceKind::cpu, 0x10005), Tier::base);
}

TEST(PipelineCacheFile, NamesDeviceDriverAndShaders) {
  Caps caps = device(0, "x", DeviceKind::discrete, gib);
  EXPECT_EQ(pipeline_cache_file("", caps, 1), "");
  const std::string file = pipeline_cache_file("/cache", caps, 1);
  EXPECT_EQ(file.rfind("/cache/", 0), 0u);
  EXPECT_NE(file, pipeline_cache_file("/cache", caps, 2));
  caps.driver_version = 7;
  EXPECT_NE(file, pipeline_cache_file("/cache", caps, 1));
  caps.driver_version = 0;
  caps.cache_uuid[3] = 9;
  EXPECT_NE(file, pipeline_cache_file("/cache", caps, 1));
}

TEST(ByteRanges, MergeAndOverlapExactly) {
  ByteRanges ranges;
  ranges.insert(10, 20);
  ranges.insert(30, 40);
  EXPECT_FALSE(ranges.overlaps(0, 10));
  EXPECT_FALSE(ranges.overlaps(20, 30));
  EXPECT_FALSE(ranges.overlaps(15, 15));
  EXPECT_TRUE(ranges.overlaps(19, 20));
  EXPECT_TRUE(ranges.overlaps(0, 100));
  EXPECT_TRUE(ranges.overlaps(12, 13));
  ranges.insert(20, 30);
  EXPECT_TRUE(ranges.overlaps(25, 26));
  ranges.insert(0, 50);
  EXPECT_TRUE(ranges.overlaps(45, 46));
  EXPECT_FALSE(ranges.overlaps(50, 51));
}

TEST(ByteRanges, AgreeWithABitmap) {
  std::uint32_t seed = 1;
  const auto next = [&seed](std::uint32_t below) { return (seed = seed * 1664525u + 1013904223u, (seed >> 8) % below); };
  ByteRanges ranges;
  std::vector<bool> bytes(300);
  for (int i = 0; i < 60; ++i) {
    const std::uint32_t begin = next(290), end = begin + next(10);
    ranges.insert(begin, end);
    std::fill(bytes.begin() + begin, bytes.begin() + end, true);
    for (int j = 0; j < 100; ++j) {
      const std::uint32_t from = next(290), to = from + next(10);
      const bool expected = std::find(bytes.begin() + from, bytes.begin() + to, true) != bytes.begin() + to;
      ASSERT_EQ(ranges.overlaps(from, to), expected) << from << " " << to;
    }
  }
}

using Use = HazardTracker::Use;
int first_buffer, second_buffer;  // only their addresses matter
Use reads(std::uint64_t offset, std::uint64_t bytes, HazardTracker::Stage stage = HazardTracker::compute) {
  return {&first_buffer, offset, bytes, stage, true, false};
}
Use writes(std::uint64_t offset, std::uint64_t bytes, HazardTracker::Stage stage = HazardTracker::compute) {
  return {&first_buffer, offset, bytes, stage, false, true};
}
bool needs(HazardTracker& tracker, std::vector<Use> uses) { return static_cast<bool>(tracker.add(uses)); }

TEST(HazardTracker, ReadAfterWriteWriteAfterReadWriteAfterWrite) {
  HazardTracker tracker;
  EXPECT_FALSE(needs(tracker, {writes(0, 64)}));
  EXPECT_TRUE(needs(tracker, {reads(0, 64), writes(64, 64)}));
  EXPECT_FALSE(needs(tracker, {reads(0, 64), writes(128, 64)}));  // what the barrier covered, read again
  EXPECT_TRUE(needs(tracker, {writes(0, 64)}));                   // write after read
  EXPECT_TRUE(needs(tracker, {writes(60, 8)}));                   // write after write, partial overlap
  EXPECT_FALSE(needs(tracker, {reads(256, 64)}));
  EXPECT_FALSE(needs(tracker, {reads(256, 64)}));  // read after read
}

TEST(HazardTracker, SeparateSlicesAndBuffersDoNotConflict) {
  HazardTracker tracker;
  EXPECT_FALSE(needs(tracker, {writes(0, 64)}));
  EXPECT_FALSE(needs(tracker, {writes(64, 64)}));
  EXPECT_FALSE(needs(tracker, {{&second_buffer, 0, 64, HazardTracker::compute, true, true}}));
  EXPECT_TRUE(needs(tracker, {reads(127, 1)}));
}

TEST(HazardTracker, BarriersNameOnlyTheStagesConcerned) {
  HazardTracker tracker;
  tracker.add(std::vector{writes(0, 64)});
  auto barrier = tracker.add(std::vector{reads(0, 64)});
  EXPECT_EQ(barrier.from, HazardTracker::compute);
  EXPECT_EQ(barrier.to, HazardTracker::compute);
  // That barrier did not order copies and indirect reads after the write: each needs its own.
  barrier = tracker.add(std::vector{reads(0, 64, HazardTracker::transfer)});
  EXPECT_EQ(barrier.from, HazardTracker::compute);
  EXPECT_EQ(barrier.to, HazardTracker::transfer);
  barrier = tracker.add(std::vector{reads(0, 12, HazardTracker::indirect), reads(64, 64)});
  EXPECT_EQ(barrier.to, HazardTracker::indirect);
  barrier = tracker.add(std::vector{writes(0, 64)});  // after the reads of all three stages
  EXPECT_EQ(barrier.to, HazardTracker::compute);
  EXPECT_EQ(barrier.from, HazardTracker::compute | HazardTracker::transfer | HazardTracker::indirect);
}

TEST(HazardTracker, AlwaysOrdersWithoutAHazard) {
  HazardTracker tracker;
  EXPECT_FALSE(tracker.add(std::vector{writes(0, 4)}, true));  // nothing before it
  EXPECT_TRUE(tracker.add(std::vector{writes(64, 4)}, true));
}

}  // namespace
}  // namespace skipstone::vk
