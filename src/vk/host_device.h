// A device that belongs to the host program, and the requirements for creating it. Vulkan's handles without its header.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace skipstone::vk {

/// Nothing of it is destroyed; it must outlive the Device that adopts it. Only `queue` is submitted to, each time within `lock` and
/// `unlock`.
struct HostDevice {
  void (*get_instance_proc_addr)() = nullptr;  ///< PFN_vkGetInstanceProcAddr; null: the system's loader
  void* instance = nullptr;
  void* physical_device = nullptr;
  void* device = nullptr;
  void* queue = nullptr;
  std::uint32_t queue_family = 0;
  std::uint32_t api_version = 0;  ///< of the VkApplicationInfo that the instance was made with; 0: Vulkan 1.2
  /// Extensions and features that were enabled, of those that requirements() names; others do not matter. VK_EXT_debug_utils among the
  /// extensions: buffers, pipelines and dispatches get names. The runtime does without those that were not enabled.
  std::vector<std::string> extensions, features;
  /// Called around each submission, from the threads that load models or use sessions, and never one within the other. Empty: the queue is
  /// this Device's alone.
  std::function<void()> lock, unlock;
};

struct Requirement {
  std::string name;
  std::string structure;  ///< of features: the structure that has the member `name`
  bool needed = false;    ///< without it no model runs; the others make models faster
};

/// Requirements for creating an instance and a device.
struct Requirements {
  std::uint32_t api_version = 0;  ///< the least for VkApplicationInfo and for the device
  std::vector<Requirement> instance_extensions;
  // Of a physical device; empty where none was asked about.
  std::vector<Requirement> device_extensions, features;
  std::uint32_t queue_family = 0;  ///< one with compute, without graphics if possible
  std::string unsuitable;          ///< why the device cannot run models, whatever is enabled; "" where it can
  /// A VkPhysicalDeviceFeatures2 for VkDeviceCreateInfo::pNext that enables all of `features` and nothing else.
  std::shared_ptr<const void> feature_chain;
};

/// `get_instance_proc_addr` and `api_version` as in HostDevice. `instance` null: instance_extensions alone. Throws no_device without
/// Vulkan 1.2, invalid_argument for a physical device without an instance.
Requirements requirements(void (*get_instance_proc_addr)(), void* instance, void* physical_device, std::uint32_t api_version = 0);

/// Names of the features that requirements() may list and that are on in `chain`, a VkDeviceCreateInfo::pNext.
std::vector<std::string> enabled_features(const void* chain);

}  // namespace skipstone::vk
