// What the Vulkan layer's tests share: one device, with the validation layers where they are installed, and two tiny kernels.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "vk/device.h"
#include "vk/memory.h"
#include "vk/pipeline.h"
#include "vk/recorder.h"

namespace skipstone::vk {

inline const std::uint32_t affine_spirv[] = {
#include "vk_affine.inc"
};
inline const std::uint32_t counts_spirv[] = {
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

}  // namespace skipstone::vk
