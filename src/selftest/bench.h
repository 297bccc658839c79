// One case's buffers on the device: filled by name, run through, read back by name.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kernels/abi.h"
#include "kernels/dispatch.h"
#include "kernels/library.h"
#include "kernels/operations.h"
#include "kernels/selector.h"
#include "vk/device.h"
#include "vk/memory.h"
#include "vk/recorder.h"

namespace skipstone::selftest {

/// Buffers live in host-visible memory: they are small, and no copy can hide or cause an error.
class Bench {
 public:
  Bench(std::shared_ptr<vk::Device> device, kernels::Library& library);

  const vk::Caps& caps() const { return device_->caps(); }
  const vk::Tuning& tuning() const { return device_->tuning(); }
  const kernels::Selector& select() const { return select_; }

  /// Makes (or overwrites) the buffer of `resource`.
  template <typename T>
  void put(const kernels::Resource& resource, const std::vector<T>& values) {
    put_bytes(resource, std::as_bytes(std::span(values)));
  }
  /// Makes a buffer whose every word is `untouched`, a NaN that no kernel produces: outputs, so that missing writes show.
  void reserve(const kernels::Resource& resource, std::uint64_t words);
  static constexpr std::uint32_t untouched = 0x7fedcba9u;

  /// The first `count` elements of a buffer.
  template <typename T>
  std::vector<T> get(const kernels::Resource& resource, std::size_t count) const {
    std::vector<T> values(count);
    const vk::Slice slice = find(resource);
    if (slice.bytes < count * sizeof(T)) fail(Code::internal, "the self-test reads past the end of {}", kernels::to_string(resource));
    std::memcpy(values.data(), slice.mapped, count * sizeof(T));
    return values;
  }

  /// The state of the pass: positions base .. base + rows - 1 are real.
  abi::StepState& state();
  void set_rows(std::uint32_t base, std::uint32_t rows);

  /// Runs the dispatches in order and waits. A bucket's worth of buffers must be there.
  void run(std::span<const kernels::Dispatch> dispatches);
  void run(const kernels::Dispatch& dispatch) { run(std::span(&dispatch, 1)); }

  /// The kernel under test: that of the first requested dispatch, even where it could not run, or the one that about() has set.
  std::optional<kernels::KernelId> kernel() const { return kernel_; }
  void about(kernels::KernelId kernel) { kernel_ = kernel; }

 private:
  void put_bytes(const kernels::Resource& resource, std::span<const std::byte> bytes);
  vk::Slice make(const kernels::Resource& resource, std::uint64_t bytes);
  vk::Slice find(const kernels::Resource& resource) const;

  std::shared_ptr<vk::Device> device_;
  kernels::Library& library_;
  kernels::Selector select_;
  vk::Arena arena_;
  std::vector<std::pair<kernels::Resource, vk::Slice>> buffers_;
  std::optional<kernels::KernelId> kernel_;
};

}  // namespace skipstone::selftest
