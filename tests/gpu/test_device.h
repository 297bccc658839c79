// The device that a test program runs on: what ctest's environment chooses, with the validation layers where it asks for them. Tests that
// load one model after another share its kernels: CPU drivers take most of a test's time to compile them.
#pragma once

#include <memory>

#include "base/env.h"
#include "base/status.h"
#include "kernels/library.h"
#include "vk/device.h"

namespace skipstone::fixtures {

struct TestDevice {
  std::shared_ptr<vk::Instance> instance;
  std::shared_ptr<vk::Device> device;
  std::shared_ptr<kernels::Library> kernels;

  /// One for the whole program.
  static TestDevice& get() {
    static TestDevice shared;
    return shared;
  }
  std::uint64_t messages() const { return instance->validation_messages(); }
  bool validated() const { return env::flag("SKIPSTONE_VALIDATION"); }

 private:
  TestDevice() : instance(vk::Instance::create(validated())) {
    const auto unsuitable = [this](std::uint32_t index) { return instance->unsuitable(index); };
    device = vk::Device::create(instance, vk::choose_device(instance->devices(), unsuitable, "").index);
    kernels = std::make_shared<kernels::Library>(device, env::cache_directory());
  }
};

}  // namespace skipstone::fixtures
