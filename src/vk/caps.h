// A device's identity and capabilities, read once at start. Plain data: no Vulkan call happens through it, tests fill it by hand.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skipstone::vk {

enum class DeviceKind { discrete, integrated, virtual_gpu, cpu, other };

/// Tiers that the kernel selector knows. `base` needs nothing beyond Vulkan 1.2 core (SwiftShader); `fp16` has shaderFloat16 and
/// 16-bit storage; `cooperative_matrix` also has matrices of half precision summed in floats. Each includes those before it.
enum class Tier { base, fp16, cooperative_matrix };

/// An M x K matrix times a K x N one.
struct MatrixShape {
  std::uint32_t m = 0, n = 0, k = 0;
  bool exists() const { return m != 0; }
};

struct Heap {
  std::uint64_t bytes = 0;
  std::uint64_t available = 0;  ///< by VK_EXT_memory_budget where present, else = bytes
  bool device_local = false;
};

struct Caps {
  std::uint32_t index = 0;  ///< position in the list that `devices` prints
  std::string name, driver_name, driver_info;
  std::string profile;  ///< the GPU that it is taken for (tuning.h); empty except in tests
  DeviceKind kind = DeviceKind::other;
  std::uint32_t vendor_id = 0, device_id = 0, driver_version = 0, api_version = 0;
  std::array<std::uint8_t, 16> cache_uuid{};                  ///< pipelineCacheUUID
  std::array<std::uint8_t, 16> device_uuid{}, driver_uuid{};  ///< of VkPhysicalDeviceIDProperties: this device, this build of its driver

  std::uint32_t subgroup_size = 0, min_subgroup_size = 0, max_subgroup_size = 0;
  bool subgroup_size_control = false, full_subgroups = false;
  bool subgroup_arithmetic = false, subgroup_shuffle = false,
       subgroup_ballot = false;  ///< those subgroup operations work in compute shaders
  bool fp16 = false, int8 = false, storage16 = false, storage8 = false;
  MatrixShape cooperative_matrix;  ///< of half precision, summed in floats, held by a subgroup; zeros if there is none
  bool timeline_semaphore = false;
  bool conditional_dispatch = false;    ///< VK_EXT_conditional_rendering: dispatches that run only where a word of a buffer is set
  std::vector<std::string> extensions;  ///< available device extensions (sorted)

  bool timestamps = false;
  float timestamp_period_ns = 1.0f;
  bool async_compute_queue = false;  ///< a compute family without graphics

  std::uint32_t max_workgroup_invocations = 0, max_shared_bytes = 0, max_push_bytes = 0, max_storage_buffers = 0;
  std::array<std::uint32_t, 3> max_workgroup_size{}, max_workgroup_count{};
  std::uint64_t max_storage_range = 0, max_allocation = 0;
  std::uint32_t storage_alignment = 1, texel_alignment = 1;
  std::uint64_t max_texels = 0;  ///< 16-byte elements of one texel buffer
  std::vector<Heap> heaps;
  bool unified_memory = false;  ///< the large device-local heap is host visible (UMA or ReBAR)

  Tier tier() const;
  bool has_extension(std::string_view extension) const;
  bool is_cpu() const { return kind == DeviceKind::cpu; }
  std::uint64_t device_bytes() const;  ///< size of the largest device-local heap
  /// Whether there is memory that is not the device's own, in a heap apart.
  bool has_host_heap() const;
  /// The device's memory is the system's: that of CPUs, integrated GPUs, and devices without memory of another kind. `unified_memory` does
  /// not say it, for cards with a resizable BAR have that too.
  bool shares_system_memory() const;
};

const char* to_string(DeviceKind kind);
const char* to_string(Tier tier);

}  // namespace skipstone::vk
