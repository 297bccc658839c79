// Kernels as pipelines on one device: created on first use or earlier, kept for all plans.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "kernels/dispatch.h"
#include "vk/device.h"
#include "vk/pipeline.h"
#include "vk/recorder.h"

namespace skipstone::kernels {

class Library {
 public:
  /// `cache_directory`: where the device's pipeline cache file is kept; "" for none.
  Library(std::shared_ptr<vk::Device> device, const std::string& cache_directory);
  ~Library();

  const std::shared_ptr<vk::Device>& device() const;
  /// Creates the pipeline if it does not exist yet. From any thread; two threads create two pipelines at the same time. `subgroup`: as
  /// Dispatch::subgroup. Throws unsupported if this build has no such kernel or the driver refuses it.
  const vk::Pipeline& pipeline(KernelId kernel, std::span<const std::uint32_t> constants, std::uint32_t subgroup = 0);
  /// Tests: uses `spirv` instead of the embedded words of `kernel` from now on. The words must outlive the library.
  void replace(KernelId kernel, std::span<const std::uint32_t> spirv);
  void save_cache();
  std::size_t size() const;        ///< pipelines requested so far
  std::size_t cache_hits() const;  ///< those of them that the driver reports as found in the cache file's data; 0 if it reports nothing

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Maps an operand to its buffer.
using Resolver = std::function<vk::Slice(const Resource&)>;

/// Records `dispatch`. Throws internal where an operand resolves to nothing.
void record(vk::Recorder& recorder, Library& library, const Dispatch& dispatch, const Resolver& resolve);

/// A hash over all embedded kernels: part of every cache key.
std::uint64_t shader_hash();

}  // namespace skipstone::kernels
