// Every kernel on a device against the oracle, at full depth; and that a kernel which is wrong is the one that is named.
#include <gtest/gtest.h>

#include <set>

#include "base/status.h"
#include "kernels/kernel_table.h"
#include "selftest/cases.h"
#include "test_device.h"

namespace skipstone::selftest {
namespace {

const std::uint32_t broken_rms_norm_spirv[] = {
#include "broken_rms_norm.inc"
};

using fixtures::TestDevice;

TEST(Kernels, AgreeWithTheOracle) {
  std::size_t count = 0;
  for (const Result& result : run(TestDevice::get().device, Depth::full, {})) {
    EXPECT_TRUE(result.passed) << result.kernel << ": " << result.name << ": " << result.detail;
    ++count;
  }
  EXPECT_EQ(count, all_cases(Depth::full).size());
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

TEST(Kernels, TheBrokenOneIsNamed) {
  std::set<std::string> failed, passed;
  const auto results = run(TestDevice::get().device, Depth::quick, {},
                           [](kernels::Library& library) { library.replace(kernels::KernelId::rms_norm, broken_rms_norm_spirv); });
  for (const Result& result : results) {
    (result.passed ? passed : failed).insert(result.kernel);
    EXPECT_EQ(result.passed, result.detail.empty()) << result.name;
  }
  EXPECT_EQ(failed, std::set<std::string>{"rms_norm"});
  EXPECT_EQ(passed.count("matvec_q8_0"), 1u);
}

TEST(Kernels, EveryKernelHasCasesInBothDepths) {
  for (const Depth depth : {Depth::quick, Depth::full}) {
    std::set<std::string> kernels, names;
    for (const Case& item : all_cases(depth)) {
      kernels.insert(item.kernel);
      EXPECT_TRUE(names.insert(item.name).second) << item.name;
    }
    for (const kernels::KernelInfo& kernel : kernels::kernel_table()) EXPECT_EQ(kernels.count(kernel.name), 1u) << kernel.name;
  }
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
