// Every call of a short run fails once, on a driver that executes nothing: a sentence and the right status, or the right text; nothing
// leaks, nothing is freed while it is in use, and a new engine works.
#include <gtest/gtest.h>
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "faults/short_run.h"
#include "faults/stub_driver.h"
#include "fixtures/tiny_model.h"

namespace skipstone::faults {
namespace {

class VulkanFailures : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    skipstone_set_log(nullptr, nullptr);
    driver = new StubDriver;
    folder = new fixtures::TemporaryDirectory;
    model = folder->file("tiny.gguf");
    fixtures::write_tiny_model({.layers = 2, .dim = 32, .heads = 2, .kv_heads = 1, .ffn = 64, .context = 64}, model);
  }
  static void TearDownTestSuite() {
    delete folder;
    delete driver;
  }

  static void expect_clean(const std::string& what) {
    EXPECT_EQ(driver->objects(), 0u) << what << ": Vulkan objects are left";
    EXPECT_STREQ(driver->misuse(), "") << what;
    driver->forget_misuse();
  }

  /// The statuses that may follow where `call` returned `result`.
  static std::vector<skipstone_status> statuses_for(const std::string& call, std::int32_t result) {
    // The loader is between: what its drivers say while it looks for them it takes for the absence of a driver.
    if (call == "vkCreateInstance" || call == "vkEnumerateInstanceExtensionProperties" || call == "vkEnumeratePhysicalDevices") {
      return {SKIPSTONE_OUT_OF_MEMORY, SKIPSTONE_NO_DEVICE};
    }
    if (result == VK_ERROR_DEVICE_LOST) return {SKIPSTONE_DEVICE_LOST};
    if (result == VK_ERROR_INITIALIZATION_FAILED) return {SKIPSTONE_NO_DEVICE};
    if (result == VK_ERROR_INVALID_SHADER_NV) return {SKIPSTONE_UNSUPPORTED};
    return {SKIPSTONE_OUT_OF_MEMORY};
  }

  static Outcome expected_run(const RunOptions& options) {
    driver->fail(nullptr, 0, 0);
    const Outcome outcome = short_run(model.c_str(), options);
    EXPECT_EQ(outcome.status, SKIPSTONE_OK) << outcome.sentence;
    EXPECT_EQ(outcome.tokens.size(), 8u);
    return outcome;
  }

  /// Lets call `number` fail with its result number `choice`.
  static void inject(const RunOptions& options, const Outcome& expected, std::uint64_t commands, std::uint64_t number, std::uint32_t choice) {
    driver->fail(nullptr, number, choice);
    const std::uint64_t before = driver->executed();
    const Outcome outcome = short_run(model.c_str(), options);
    const std::string call = driver->failed_call();
    const std::int32_t result = driver->failed_result();
    const std::string what = "call " + std::to_string(number) + ", " + call + " gives " + std::to_string(result);
    if (outcome.status == SKIPSTONE_OK) {
      EXPECT_EQ(outcome.tokens, expected.tokens) << what;
      EXPECT_GE(driver->executed() - before, commands) << what << ": something was not run, and nothing was said";
      ++survived;
    } else {
      const auto allowed = statuses_for(call, result);
      EXPECT_NE(std::find(allowed.begin(), allowed.end(), outcome.status), allowed.end())
          << what << ": " << skipstone_status_name(outcome.status) << ": " << outcome.sentence;
      EXPECT_GT(outcome.sentence.size(), 20u) << what;
      EXPECT_EQ(outcome.sentence.find('\n'), std::string::npos) << what;
      ++refused;
    }
    expect_clean(what);
  }

  static void inject_everywhere(const RunOptions& options) {
    expected_run(options);  // fills the caches
    expect_clean("without a failure");
    const std::uint64_t before = driver->executed();
    const Outcome expected = expected_run(options);
    const std::uint64_t calls = driver->calls(), commands = driver->executed() - before;
    ASSERT_GT(calls, 100u);
    survived = refused = 0;
    // Each call with one of its results in turn; with SKIPSTONE_FULL_TESTS with all that any call has.
    const std::uint32_t choices = std::getenv("SKIPSTONE_FULL_TESTS") != nullptr ? 5 : 1;
    for (std::uint64_t number = 1; number <= calls; ++number) {
      for (std::uint32_t choice = 0; choice < choices; ++choice) {
        inject(options, expected, commands, number, static_cast<std::uint32_t>(number) + choice);
      }
      if (number % 8 != 0) continue;
      const Outcome after = expected_run(options);
      EXPECT_EQ(after.tokens, expected.tokens) << "a new engine does not work behind a failure of call " << number;
    }
    const Outcome after = expected_run(options);
    EXPECT_EQ(after.tokens, expected.tokens);
    expect_clean("after all failures");
    EXPECT_GT(refused, 50u);
    std::printf("%llu calls, %llu failures injected: %u refused, %u survived\n", static_cast<unsigned long long>(calls),
                static_cast<unsigned long long>(refused + survived), refused, survived);
  }

  static inline StubDriver* driver = nullptr;
  static inline fixtures::TemporaryDirectory* folder = nullptr;
  static inline std::string model;
  static inline unsigned survived = 0, refused = 0;
};

TEST_F(VulkanFailures, Greedy) { inject_everywhere({}); }

TEST_F(VulkanFailures, Sampling) { inject_everywhere({.temperature = 0.8f, .draft = "none"}); }

}  // namespace
}  // namespace skipstone::faults
