#include "vk/caps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/env.h"
#include "vk/cooperative_matrix.h"
#include "vk/tuning.h"
#include "vk/vulkan_state.h"

namespace skipstone::vk {
namespace {

DeviceKind kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return DeviceKind::discrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return DeviceKind::integrated;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return DeviceKind::virtual_gpu;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return DeviceKind::cpu;
    default:
      return DeviceKind::other;
  }
}

std::vector<std::string> device_extensions(const InstanceFunctions& fn, VkPhysicalDevice physical) {
  std::uint32_t count = 0;
  check(fn.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr), "vkEnumerateDeviceExtensionProperties");
  std::vector<VkExtensionProperties> properties(count);
  check(fn.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, properties.data()), "vkEnumerateDeviceExtensionProperties");
  std::vector<std::string> names;
  names.reserve(properties.size());
  for (const auto& extension : properties) names.emplace_back(extension.extensionName);
  std::sort(names.begin(), names.end());
  return names;
}

void read_limits(const VkPhysicalDeviceLimits& limits, Caps& caps) {
  caps.timestamp_period_ns = limits.timestampPeriod;
  caps.max_workgroup_invocations = limits.maxComputeWorkGroupInvocations;
  caps.max_shared_bytes = limits.maxComputeSharedMemorySize;
  caps.max_push_bytes = limits.maxPushConstantsSize;
  caps.max_storage_buffers =
      std::min({limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers, limits.maxPerStageResources});
  for (std::size_t i = 0; i < 3; ++i) {
    caps.max_workgroup_size[i] = limits.maxComputeWorkGroupSize[i];
    caps.max_workgroup_count[i] = limits.maxComputeWorkGroupCount[i];
  }
  caps.max_storage_range = limits.maxStorageBufferRange;
  caps.texel_alignment = static_cast<std::uint32_t>(std::max<VkDeviceSize>(1, limits.minTexelBufferOffsetAlignment));
  caps.max_texels = limits.maxTexelBufferElements;
  caps.storage_alignment = static_cast<std::uint32_t>(std::max<VkDeviceSize>(1, limits.minStorageBufferOffsetAlignment));
}

void read_properties(const InstanceFunctions& fn, VkPhysicalDevice physical, Caps& caps) {
  const bool core13 = caps.api_version >= VK_API_VERSION_1_3;
  auto maintenance4 = make<VkPhysicalDeviceMaintenance4Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
  auto control = make<VkPhysicalDeviceSubgroupSizeControlProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
  auto driver = make<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  auto maintenance3 = make<VkPhysicalDeviceMaintenance3Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  auto subgroup = make<VkPhysicalDeviceSubgroupProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  auto ids = make<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
  auto all = make<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  all.pNext = &ids;
  ids.pNext = &subgroup;
  subgroup.pNext = &maintenance3;
  maintenance3.pNext = &driver;
  if (core13 || caps.has_extension(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) driver.pNext = &control;
  if (core13 || caps.has_extension(VK_KHR_MAINTENANCE_4_EXTENSION_NAME)) {
    maintenance4.pNext = driver.pNext;
    driver.pNext = &maintenance4;
  }
  fn.vkGetPhysicalDeviceProperties2(physical, &all);

  caps.name = all.properties.deviceName;
  caps.driver_name = driver.driverName;
  caps.driver_info = driver.driverInfo;
  caps.kind = kind_of(all.properties.deviceType);
  caps.vendor_id = all.properties.vendorID;
  caps.device_id = all.properties.deviceID;
  caps.driver_version = all.properties.driverVersion;
  std::memcpy(caps.cache_uuid.data(), all.properties.pipelineCacheUUID, caps.cache_uuid.size());
  std::memcpy(caps.device_uuid.data(), ids.deviceUUID, caps.device_uuid.size());
  std::memcpy(caps.driver_uuid.data(), ids.driverUUID, caps.driver_uuid.size());
  caps.subgroup_size = caps.min_subgroup_size = caps.max_subgroup_size = subgroup.subgroupSize;
  caps.subgroup_arithmetic = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                             (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0;
  caps.subgroup_shuffle = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                          (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0;
  caps.subgroup_ballot =
      (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 && (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_BALLOT_BIT) != 0;
  if ((control.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0) {
    caps.subgroup_size_control = true;  // and the feature, see read_features
    caps.min_subgroup_size = control.minSubgroupSize;
    caps.max_subgroup_size = control.maxSubgroupSize;
  }
  caps.max_allocation = maintenance3.maxMemoryAllocationSize;
  if (maintenance4.maxBufferSize != 0) caps.max_allocation = std::min(caps.max_allocation, maintenance4.maxBufferSize);
  read_limits(all.properties.limits, caps);
}

void without_subgroup_sizes(Caps& caps) {
  caps.subgroup_size_control = caps.full_subgroups = false;
  caps.min_subgroup_size = caps.max_subgroup_size = caps.subgroup_size;
}

void read_features(const InstanceFunctions& fn, VkPhysicalDevice physical, Caps& caps) {
  auto control = make<VkPhysicalDeviceSubgroupSizeControlFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
  auto v12 = make<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  auto v11 = make<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
  auto all = make<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  all.pNext = &v11;
  v11.pNext = &v12;
  auto conditional =
      make<VkPhysicalDeviceConditionalRenderingFeaturesEXT>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT);
  if (caps.subgroup_size_control) v12.pNext = &control;
  if (caps.has_extension(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME)) {
    conditional.pNext = v12.pNext;
    v12.pNext = &conditional;
  }
  fn.vkGetPhysicalDeviceFeatures2(physical, &all);
  caps.fp16 = v12.shaderFloat16 == VK_TRUE;
  caps.int8 = v12.shaderInt8 == VK_TRUE;
  caps.storage8 = v12.storageBuffer8BitAccess == VK_TRUE;
  caps.storage16 = v11.storageBuffer16BitAccess == VK_TRUE;
  caps.conditional_dispatch = conditional.conditionalRendering == VK_TRUE;
  caps.full_subgroups = caps.subgroup_size_control && control.computeFullSubgroups == VK_TRUE;
  caps.timeline_semaphore = v12.timelineSemaphore == VK_TRUE;
  if (caps.subgroup_size_control && control.subgroupSizeControl != VK_TRUE) without_subgroup_sizes(caps);
}

/// Takes out of `caps` the features that the device was made without.
template <typename Enabled>
void keep_features(Caps& caps, const Enabled& enabled) {
  caps.fp16 = caps.fp16 && enabled("shaderFloat16");
  caps.int8 = caps.int8 && enabled("shaderInt8");
  caps.storage8 = caps.storage8 && enabled("storageBuffer8BitAccess");
  caps.storage16 = caps.storage16 && enabled("storageBuffer16BitAccess");
  caps.timeline_semaphore = caps.timeline_semaphore && enabled("timelineSemaphore");
  caps.conditional_dispatch = caps.conditional_dispatch && enabled("conditionalRendering");
  caps.full_subgroups = caps.full_subgroups && enabled("computeFullSubgroups");
  if (caps.subgroup_size_control && !enabled("subgroupSizeControl")) without_subgroup_sizes(caps);
}

void read_memory(const InstanceFunctions& fn, VkPhysicalDevice physical, Caps& caps) {
  auto budget = make<VkPhysicalDeviceMemoryBudgetPropertiesEXT>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
  auto all = make<VkPhysicalDeviceMemoryProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
  const bool budgets = caps.has_extension(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (budgets) all.pNext = &budget;
  fn.vkGetPhysicalDeviceMemoryProperties2(physical, &all);
  const auto& memory = all.memoryProperties;
  std::uint32_t largest = 0;
  std::uint64_t largest_bytes = 0;
  for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    Heap heap;
    heap.bytes = memory.memoryHeaps[i].size;
    heap.available = heap.bytes;
    if (budgets) heap.available = budget.heapBudget[i] > budget.heapUsage[i] ? budget.heapBudget[i] - budget.heapUsage[i] : 0;
    heap.device_local = (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
    if (heap.device_local && heap.bytes > largest_bytes) {
      largest = i;
      largest_bytes = heap.bytes;
    }
    caps.heaps.push_back(heap);
  }
  constexpr VkMemoryPropertyFlags visible =
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const auto& type = memory.memoryTypes[i];
    if (type.heapIndex == largest && (type.propertyFlags & visible) == visible) caps.unified_memory = true;
  }
}

}  // namespace

std::vector<QueueFamily> queue_families(const InstanceState& instance, VkPhysicalDevice physical) {
  std::uint32_t count = 0;
  instance.fn.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> properties(count);
  instance.fn.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, properties.data());
  std::vector<QueueFamily> families;
  for (std::uint32_t i = 0; i < count; ++i) {
    const VkQueueFlags flags = properties[i].queueCount == 0 ? 0 : properties[i].queueFlags;
    families.push_back({i, (flags & VK_QUEUE_COMPUTE_BIT) != 0, (flags & VK_QUEUE_GRAPHICS_BIT) != 0, properties[i].timestampValidBits});
  }
  return families;
}

QueueFamily choose_queue_family(const InstanceState& instance, VkPhysicalDevice physical) {
  QueueFamily best;
  for (const QueueFamily& family : queue_families(instance, physical)) {
    // The queue of a family without graphics does not wait for the desktop's work.
    if (family.has_compute && (!best.has_compute || (best.has_graphics && !family.has_graphics))) best = family;
  }
  return best;
}

Caps read_caps(const InstanceState& instance, VkPhysicalDevice physical, std::uint32_t index, const QueueFamily& family,
               const HostDevice* host) {
  Caps caps;
  caps.index = index;
  caps.extensions = device_extensions(instance.fn, physical);
  const auto enabled = [](const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (host != nullptr) std::erase_if(caps.extensions, [&](const std::string& name) { return !enabled(host->extensions, name); });
  VkPhysicalDeviceProperties properties{};
  instance.fn.vkGetPhysicalDeviceProperties(physical, &properties);
  caps.api_version = std::min(properties.apiVersion, instance.api_version);
  read_properties(instance.fn, physical, caps);
  read_features(instance.fn, physical, caps);
  if (host != nullptr) keep_features(caps, [&](std::string_view name) { return enabled(host->features, name); });
  read_memory(instance.fn, physical, caps);
  if (const auto profile = env::get("SKIPSTONE_PROFILE")) apply_profile(caps, *profile);
  apply_quirks(caps);
  if (host == nullptr || (enabled(host->features, "cooperativeMatrix") && enabled(host->features, "vulkanMemoryModel")))
    caps.cooperative_matrix = read_cooperative_matrix(instance, physical, caps);
  caps.timestamps = family.timestamp_bits > 0 && caps.timestamp_period_ns > 0;
  caps.async_compute_queue = family.has_compute && !family.has_graphics;
  return caps;
}

std::string why_unsuitable(const Caps& caps, const QueueFamily& family) {
  if (!family.has_compute) return "it has no compute queue";
  if (!caps.timeline_semaphore) return "it has no timeline semaphores";
  if (caps.max_storage_buffers < 8)
    return fmt::format("a shader can use only {} storage buffers there, 8 are needed", caps.max_storage_buffers);
  if (caps.max_push_bytes < 128) return fmt::format("it takes only {} bytes of push constants, 128 are needed", caps.max_push_bytes);
  if (caps.max_workgroup_invocations < 128)
    return fmt::format("workgroups have at most {} invocations, 128 are needed", caps.max_workgroup_invocations);
  if (caps.subgroup_size < 4) return fmt::format("its subgroups have {} lanes, at least 4 are needed", caps.subgroup_size);
  return {};
}

bool Caps::has_extension(std::string_view extension) const { return std::ranges::binary_search(extensions, extension); }

Tier Caps::tier() const {
  if (!fp16 || !storage16) return Tier::base;
  return cooperative_matrix.exists() ? Tier::cooperative_matrix : Tier::fp16;
}

bool Caps::has_host_heap() const { return !std::ranges::all_of(heaps, &Heap::device_local); }

bool Caps::shares_system_memory() const { return is_cpu() || kind == DeviceKind::integrated || !has_host_heap(); }

std::uint64_t Caps::device_bytes() const {
  std::uint64_t bytes = 0;
  for (const Heap& heap : heaps) {
    if (heap.device_local) bytes = std::max(bytes, heap.bytes);
  }
  return bytes;
}

const char* to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::discrete:
      return "discrete GPU";
    case DeviceKind::integrated:
      return "integrated GPU";
    case DeviceKind::virtual_gpu:
      return "virtual GPU";
    case DeviceKind::cpu:
      return "CPU";
    case DeviceKind::other:
      break;
  }
  return "other device";
}

const char* to_string(Tier tier) {
  switch (tier) {
    case Tier::base:
      return "base";
    case Tier::fp16:
      return "fp16";
    case Tier::cooperative_matrix:
      return "coopmat";
  }
  return "?";
}

}  // namespace skipstone::vk
