// Runs the tests of another file on the stub driver: what they do with Vulkan is checked, and nothing of it may be left.
#include <gtest/gtest.h>

#include <memory>

#include "faults/stub_driver.h"

// The thread sanitizer leaves out what the driver does with its lock and its memory: a program does not order its threads by a driver's
// lock.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libskipstone_stub_driver\n"; }

namespace skipstone::faults {
namespace {

class OnStub : public testing::Environment {
 public:
  void SetUp() override { driver_ = std::make_unique<StubDriver>(); }
  void TearDown() override {
    EXPECT_GT(driver_->executed(), 0u) << "another driver was used";
    EXPECT_EQ(driver_->objects(), 0u);
    EXPECT_STREQ(driver_->misuse(), "");
  }

 private:
  std::unique_ptr<StubDriver> driver_;
};

[[maybe_unused]] const auto* const environment = testing::AddGlobalTestEnvironment(new OnStub);

}  // namespace
}  // namespace skipstone::faults
