// Every kernel on a device against the oracle, at full depth; and that a kernel which is wrong is the one that is named.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/env.h"
#include "base/status.h"
#include "fixtures/slow_device.h"
#include "kernels/kernel_table.h"
#include "kernels/selector.h"
#include "selftest/bench.h"
#include "selftest/cases.h"
#include "selftest/data.h"
#include "test_device.h"

namespace skipstone::selftest {
namespace {

const std::uint32_t broken_rms_norm_spirv[] = {
#include "broken_rms_norm.inc"
};

using fixtures::TestDevice;

// Kernels that the device's own tuning never chooses need what it lacks, or run at full depth only.
bool chosen(const std::string& kernel, const vk::Caps& caps, const vk::Tuning& tuning, Depth depth) {
  if ((kernel.starts_with("matmul_half") || kernel == "half_rows") && caps.tier() < vk::Tier::fp16) return false;
  if (kernel.starts_with("matmul_coopmat") && std::min(caps.tier(), kernels::built_tier()) < vk::Tier::cooperative_matrix) return false;
  const bool texels = kernel.find("_texels") != std::string::npos || kernel.starts_with("attention_serial"),
             rows = kernel.starts_with("matvec_rows");
  if (rows && tuning.matvec_k_lanes != 1) return false;
  if (texels && !tuning.texels) return false;
  // Stacks of matrices have their blocks read as single ones: one format stands for all.
  for (const std::string stack : {"_experts_", "_heads_"}) {
    if (kernel.find(stack) != std::string::npos && !kernel.ends_with(stack + "q8_0")) return false;
  }
  if (depth == Depth::full) return true;
  const bool has_texels = rows || kernel.starts_with("attention") || kernel.starts_with("rope_store");
  if (has_texels && !texels && tuning.texels) return false;
  return !(kernel.starts_with("matvec") && !rows && tuning.matvec_k_lanes == 1);
}

void expect_every_kernel(const std::vector<Result>& results, const vk::Device& device, Depth depth) {
  std::set<std::string> kernels, names;
  for (const Result& result : results) {
    kernels.insert(result.kernel);
    EXPECT_TRUE(names.insert(result.name).second) << result.name << " is there twice";
  }
  for (const kernels::KernelInfo& kernel : kernels::kernel_table()) {
    EXPECT_TRUE(kernels.contains(kernel.name) || !chosen(kernel.name, device.caps(), device.tuning(), depth))
        << kernel.name << " has no case";
  }
}

/// Of lavapipe's widths 256 bits have every case; at 512 kernels differ in their lanes alone, and have one case of each kind.
bool second_width() { return env::get("SKIPSTONE_TEST_DEVICE") == "lavapipe512" && !fixtures::full_sweep(); }

TEST(Kernels, AgreeWithTheOracle) {
  const auto device = TestDevice::get().device;
  const Depth depth = second_width() ? Depth::quick : Depth::full;
  Scope scope = scope_of(*device, depth);
  scope.sample = fixtures::slow_device();
  const std::vector<Result> results = run(device, scope, {}, {});
  for (const Result& result : results) EXPECT_TRUE(result.passed) << result.kernel << ": " << result.name << ": " << result.detail;
  expect_every_kernel(results, *device, depth);
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

class AllRows : public testing::TestWithParam<gguf::Type> {};

// A test for each format, for CPU drivers compile some of them for minutes.
TEST_P(AllRows, HaveTheBitsOfRowsAlone) {
  if (!env::flag("SKIPSTONE_TEST_ALL_ROWS")) GTEST_SKIP() << "takes minutes on CPU drivers: SKIPSTONE_TEST_ALL_ROWS=1 runs it";
  const auto device = TestDevice::get().device;
  kernels::Library& library = *TestDevice::get().kernels;
  Scope scope = scope_of(*device, Depth::full);
  scope.all_rows = true;
  const std::string name = "invariance matvec " + suffix(GetParam());
  std::size_t cases = 0;
  for (const Case& item : invariance_cases(scope)) {
    if (item.name != name && !item.name.starts_with(name + " ")) continue;
    Bench bench(device, library);
    EXPECT_EQ(item.check(bench), "") << item.name;
    ++cases;
  }
  EXPECT_GE(cases, 1u);
}

INSTANTIATE_TEST_SUITE_P(Kernels, AllRows, testing::ValuesIn(formats()), [](const auto& format) { return suffix(format.param); });

TEST(Kernels, TheBrokenOneIsNamed) {
  if (fixtures::slow_device() || second_width())
    GTEST_SKIP() << fixtures::left_to_the_sweep << "; the host names it, alike on every device";
  std::set<std::string> failed, passed;
  const auto device = TestDevice::get().device;
  const auto results = run(device, scope_of(*device, Depth::quick), {},
                           [](kernels::Library& library) { library.replace(kernels::KernelId::rms_norm, broken_rms_norm_spirv); });
  for (const Result& result : results) {
    (result.passed ? passed : failed).insert(result.kernel);
    EXPECT_EQ(result.passed, result.detail.empty()) << result.name;
  }
  EXPECT_EQ(failed, std::set<std::string>{"rms_norm"});
  expect_every_kernel(results, *device, Depth::quick);
}

TEST(Kernels, ProgressMayStopTheRun) {
  std::size_t seen = 0;
  EXPECT_THROW(run(TestDevice::get().device, Depth::quick,
                   [&](const Result&) {
                     if (++seen == 2) fail(Code::cancelled, "stopped");
                   }),
               Error);
  EXPECT_EQ(seen, 2u);
}

TEST(Kernels, CopyBandwidthIsPlausible) {
  const double rate = copy_bandwidth(TestDevice::get().device);
  EXPECT_GT(rate, 1e8);
  EXPECT_LT(rate, 2e13);
}

}  // namespace
}  // namespace skipstone::selftest
