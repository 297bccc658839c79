// What a user is told where a GPU of the computer does not work.
#include "results/device_note.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "json/json.h"

namespace cli {
namespace {

using skipstone::Json;
using Adapters = std::vector<skipstone::platform::DisplayAdapter>;

const Json only_cpu = {{{"kind", "CPU"}}};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(DeviceNote, AGpuWithoutADriverGetsItsMakersAdvice) {
  for (const auto& [vendor, maker] : {std::pair(0x10deu, "NVIDIA"), std::pair(0x1002u, "AMD"), std::pair(0x8086u, "Intel")}) {
    const std::string advice = gpu_without_driver(Adapters{{0x1af4, {}}, {vendor, {}}}, only_cpu);
    EXPECT_TRUE(contains(advice, maker)) << advice;
    EXPECT_TRUE(contains(advice, skipstone::platform::gpu_driver_advice(maker))) << advice;
  }
}

TEST(DeviceNote, AFileThatIsRefusedIsTheReasonThen) {
  const std::string advice = gpu_without_driver(Adapters{{0x1002, "/dev/dri/renderD128"}}, only_cpu);
  EXPECT_TRUE(contains(advice, "/dev/dri/renderD128")) << advice;
  EXPECT_TRUE(contains(advice, "usermod -aG render")) << advice;
}

TEST(DeviceNote, NothingIsSaidOfDisplaysOfServersAndBesideAGpuThatWorks) {
  EXPECT_EQ(gpu_without_driver(Adapters{}, only_cpu), "");
  EXPECT_EQ(gpu_without_driver(Adapters{{0x1a03, {}}, {0x1af4, {}}}, only_cpu), "");
  EXPECT_EQ(gpu_without_driver(Adapters{{0x10de, {}}}, {{{"kind", "CPU"}}, {{"kind", "discrete GPU"}}}), "");
}

}  // namespace
}  // namespace cli
