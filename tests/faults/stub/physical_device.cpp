// What the stub says that its device is: a CPU with the optional features that kernels are chosen by.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "entry_points.h"

namespace stub {
namespace {

constexpr VkDeviceSize heap_bytes = VkDeviceSize{4} << 30;
constexpr const char* device_extensions[] = {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME};

/// Calls `visit(structure)` where the chain after `first` has a structure of that type.
template <typename Structure, typename Visit>
void in_chain(void* first, VkStructureType type, const Visit& visit) {
  for (auto* each = static_cast<VkBaseOutStructure*>(first); each != nullptr; each = each->pNext) {
    if (each->sType == type) visit(*reinterpret_cast<Structure*>(each));
  }
}

VkResult list(const char* call, const char* const* names, std::uint32_t count, std::uint32_t* capacity, VkExtensionProperties* properties) {
  if (const VkResult failed = ledger().enter(call, {no_host_memory, no_device_memory})) {
    *capacity = 0;  // loaders (1.3.239) sort devices by what they find here and do not look at the result: they take as much of the stack
    return failed;
  }
  if (properties == nullptr) {
    *capacity = count;
    return VK_SUCCESS;
  }
  *capacity = std::min(*capacity, count);
  for (std::uint32_t i = 0; i < *capacity; ++i) {
    properties[i] = {};
    std::snprintf(properties[i].extensionName, sizeof properties[i].extensionName, "%s", names[i]);
    properties[i].specVersion = 1;
  }
  return *capacity < count ? VK_INCOMPLETE : VK_SUCCESS;
}

}  // namespace

VkResult VKAPI_CALL vkEnumerateInstanceExtensionProperties(const char*, std::uint32_t* count, VkExtensionProperties* properties) {
  const std::lock_guard lock(ledger().mutex);
  return list("vkEnumerateInstanceExtensionProperties", nullptr, 0, count, properties);
}

VkResult VKAPI_CALL vkEnumerateDeviceExtensionProperties(VkPhysicalDevice, const char*, std::uint32_t* count,
                                                         VkExtensionProperties* properties) {
  const std::lock_guard lock(ledger().mutex);
  return list("vkEnumerateDeviceExtensionProperties", device_extensions, static_cast<std::uint32_t>(std::size(device_extensions)), count,
              properties);
}

VkResult VKAPI_CALL vkEnumerateInstanceVersion(std::uint32_t* version) {
  *version = VK_API_VERSION_1_2;
  return VK_SUCCESS;
}

void VKAPI_CALL vkGetPhysicalDeviceProperties(VkPhysicalDevice, VkPhysicalDeviceProperties* properties) {
  *properties = {};
  properties->apiVersion = VK_API_VERSION_1_2;
  properties->driverVersion = 1;
  properties->vendorID = 0x10005;
  properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
  std::snprintf(properties->deviceName, sizeof properties->deviceName, "Stub that executes nothing");
  std::fill(std::begin(properties->pipelineCacheUUID), std::end(properties->pipelineCacheUUID), std::uint8_t{7});
  VkPhysicalDeviceLimits& limits = properties->limits;
  limits.maxStorageBufferRange = 1u << 27;
  limits.maxTexelBufferElements = 1u << 27;
  limits.maxPushConstantsSize = 256;
  limits.maxMemoryAllocationCount = 4096;
  limits.maxPerStageDescriptorStorageBuffers = limits.maxDescriptorSetStorageBuffers = limits.maxPerStageResources = 64;
  limits.maxComputeSharedMemorySize = 32768;
  limits.maxComputeWorkGroupInvocations = 1024;
  for (int i = 0; i < 3; ++i) {
    limits.maxComputeWorkGroupCount[i] = 65535;
    limits.maxComputeWorkGroupSize[i] = 1024;
  }
  limits.minStorageBufferOffsetAlignment = limits.minTexelBufferOffsetAlignment = 16;
  limits.timestampPeriod = 1.0f;
  limits.timestampComputeAndGraphics = VK_TRUE;
}

void VKAPI_CALL vkGetPhysicalDeviceProperties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* all) {
  vkGetPhysicalDeviceProperties(device, &all->properties);
  in_chain<VkPhysicalDeviceDriverProperties>(all->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES, [](auto& driver) {
    std::snprintf(driver.driverName, sizeof driver.driverName, "stub");
    std::snprintf(driver.driverInfo, sizeof driver.driverInfo, "1");
  });
  in_chain<VkPhysicalDeviceSubgroupProperties>(all->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, [](auto& subgroup) {
    subgroup.subgroupSize = 8;
    subgroup.supportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
    subgroup.supportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT |
                                   VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  });
  in_chain<VkPhysicalDeviceMaintenance3Properties>(all->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES,
                                                   [](auto& maintenance) { maintenance.maxMemoryAllocationSize = heap_bytes / 2; });
}

void VKAPI_CALL vkGetPhysicalDeviceFeatures2(VkPhysicalDevice, VkPhysicalDeviceFeatures2* all) {
  all->features = {};
  in_chain<VkPhysicalDeviceVulkan11Features>(all->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                             [](auto& v11) { v11.storageBuffer16BitAccess = VK_TRUE; });
  in_chain<VkPhysicalDeviceVulkan12Features>(all->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, [](auto& v12) {
    v12.timelineSemaphore = v12.shaderFloat16 = v12.shaderInt8 = v12.storageBuffer8BitAccess = VK_TRUE;
  });
  in_chain<VkPhysicalDeviceConditionalRenderingFeaturesEXT>(all->pNext,
                                                            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT,
                                                            [](auto& conditional) { conditional.conditionalRendering = VK_TRUE; });
}

void VKAPI_CALL vkGetPhysicalDeviceFeatures(VkPhysicalDevice, VkPhysicalDeviceFeatures* features) { *features = {}; }

// Not one of both kinds: what is uploaded goes through copies, as on a card.
void VKAPI_CALL vkGetPhysicalDeviceMemoryProperties(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* memory) {
  *memory = {};
  memory->memoryHeapCount = memory->memoryTypeCount = 2;
  memory->memoryHeaps[0] = {heap_bytes, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  memory->memoryHeaps[1] = {heap_bytes, 0};
  memory->memoryTypes[0] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
  memory->memoryTypes[1] = {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                            1};
}

void VKAPI_CALL vkGetPhysicalDeviceMemoryProperties2(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2* all) {
  vkGetPhysicalDeviceMemoryProperties(device, &all->memoryProperties);
  in_chain<VkPhysicalDeviceMemoryBudgetPropertiesEXT>(all->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT,
                                                      [](auto& budget) {
                                                        budget.heapBudget[0] = budget.heapBudget[1] = heap_bytes;
                                                        budget.heapUsage[0] = budget.heapUsage[1] = 0;
                                                      });
}

void VKAPI_CALL vkGetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice, std::uint32_t* count, VkQueueFamilyProperties* families) {
  if (families != nullptr && *count > 0) {
    families[0] = {};
    families[0].queueFlags = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
    families[0].queueCount = 1;
    families[0].timestampValidBits = 64;
  }
  *count = 1;
}

void VKAPI_CALL vkGetPhysicalDeviceFormatProperties(VkPhysicalDevice, VkFormat, VkFormatProperties* properties) { *properties = {}; }

VkResult VKAPI_CALL vkGetPhysicalDeviceImageFormatProperties(VkPhysicalDevice, VkFormat, VkImageType, VkImageTiling, VkImageUsageFlags,
                                                             VkImageCreateFlags, VkImageFormatProperties*) {
  return VK_ERROR_FORMAT_NOT_SUPPORTED;
}

void VKAPI_CALL vkGetPhysicalDeviceSparseImageFormatProperties(VkPhysicalDevice, VkFormat, VkImageType, VkSampleCountFlagBits,
                                                               VkImageUsageFlags, VkImageTiling, std::uint32_t* count,
                                                               VkSparseImageFormatProperties*) {
  *count = 0;
}

}  // namespace stub
