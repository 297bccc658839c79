// Vulkan's functions as tables of pointers, one for each level that hands them out. The program has none of them as a symbol: it lives in
// programs that call Vulkan themselves, through the loader or through tables of their own. Private to src/vk.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

// clang-format off
#define SKIPSTONE_LOADER_FUNCTIONS(X) \
  X(vkCreateInstance) X(vkEnumerateInstanceExtensionProperties) X(vkEnumerateInstanceLayerProperties)

#define SKIPSTONE_INSTANCE_FUNCTIONS(X) \
  X(vkCreateDevice) X(vkDestroyInstance) X(vkEnumerateDeviceExtensionProperties) X(vkEnumeratePhysicalDevices) X(vkGetDeviceProcAddr) \
  X(vkGetPhysicalDeviceFeatures2) X(vkGetPhysicalDeviceMemoryProperties) X(vkGetPhysicalDeviceMemoryProperties2) \
  X(vkGetPhysicalDeviceProperties) X(vkGetPhysicalDeviceProperties2) X(vkGetPhysicalDeviceQueueFamilyProperties)

#define SKIPSTONE_DEVICE_FUNCTIONS(X) \
  X(vkAllocateCommandBuffers) X(vkAllocateDescriptorSets) X(vkAllocateMemory) X(vkBeginCommandBuffer) X(vkBindBufferMemory) \
  X(vkCmdBindDescriptorSets) X(vkCmdBindPipeline) X(vkCmdCopyBuffer) X(vkCmdDispatch) X(vkCmdDispatchIndirect) X(vkCmdFillBuffer) \
  X(vkCmdPipelineBarrier) X(vkCmdPushConstants) X(vkCmdResetQueryPool) X(vkCmdWriteTimestamp) X(vkCreateBuffer) X(vkCreateBufferView) \
  X(vkCreateCommandPool) X(vkCreateComputePipelines) X(vkCreateDescriptorPool) X(vkCreateDescriptorSetLayout) X(vkCreateFence) \
  X(vkCreatePipelineCache) X(vkCreatePipelineLayout) X(vkCreateQueryPool) X(vkCreateSemaphore) X(vkCreateShaderModule) X(vkDestroyBuffer) \
  X(vkDestroyBufferView) X(vkDestroyCommandPool) X(vkDestroyDescriptorPool) X(vkDestroyDescriptorSetLayout) X(vkDestroyDevice) \
  X(vkDestroyFence) X(vkDestroyPipeline) X(vkDestroyPipelineCache) X(vkDestroyPipelineLayout) X(vkDestroyQueryPool) X(vkDestroySemaphore) \
  X(vkDestroyShaderModule) X(vkDeviceWaitIdle) X(vkEndCommandBuffer) X(vkFreeMemory) X(vkGetBufferMemoryRequirements) X(vkGetDeviceQueue) \
  X(vkGetPipelineCacheData) X(vkGetQueryPoolResults) X(vkGetSemaphoreCounterValue) X(vkMapMemory) X(vkQueueSubmit) X(vkQueueWaitIdle) X(vkUnmapMemory) \
  X(vkUpdateDescriptorSets) X(vkWaitForFences) X(vkWaitSemaphores)

// Of extensions: null where the device was made without.
#define SKIPSTONE_DEVICE_EXTENSION_FUNCTIONS(X) \
  X(vkCmdBeginConditionalRenderingEXT) X(vkCmdEndConditionalRenderingEXT) X(vkGetPipelineExecutableStatisticsKHR)

// Of VK_EXT_debug_utils, an instance's: null where it was made without.
#define SKIPSTONE_DEBUG_FUNCTIONS(X) \
  X(vkCreateDebugUtilsMessengerEXT) X(vkDestroyDebugUtilsMessengerEXT) X(vkSetDebugUtilsObjectNameEXT) X(vkCmdBeginDebugUtilsLabelEXT) \
  X(vkCmdEndDebugUtilsLabelEXT)
// clang-format on

namespace skipstone::vk {

#define SKIPSTONE_DECLARE(name) PFN_##name name = nullptr;

struct LoaderFunctions {
  PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;
  PFN_vkEnumerateInstanceVersion vkEnumerateInstanceVersion = nullptr;  ///< null in loaders of Vulkan 1.0
  SKIPSTONE_LOADER_FUNCTIONS(SKIPSTONE_DECLARE)

  LoaderFunctions() = default;
  /// As the next ones, throws no_device where a function is missing: the pointer is no loader's.
  explicit LoaderFunctions(PFN_vkGetInstanceProcAddr get);
};

struct InstanceFunctions {
  SKIPSTONE_INSTANCE_FUNCTIONS(SKIPSTONE_DECLARE)

  InstanceFunctions() = default;
  InstanceFunctions(PFN_vkGetInstanceProcAddr get, VkInstance instance);
};

struct DebugFunctions {
  SKIPSTONE_DEBUG_FUNCTIONS(SKIPSTONE_DECLARE)

  DebugFunctions() = default;
  DebugFunctions(PFN_vkGetInstanceProcAddr get, VkInstance instance);
};

struct DeviceFunctions {
  SKIPSTONE_DEVICE_FUNCTIONS(SKIPSTONE_DECLARE)
  SKIPSTONE_DEVICE_EXTENSION_FUNCTIONS(SKIPSTONE_DECLARE)

  DeviceFunctions() = default;
  DeviceFunctions(PFN_vkGetDeviceProcAddr get, VkDevice device);
};

#undef SKIPSTONE_DECLARE

/// The system's loader, opened by the first call and kept. Throws no_device if there is none, with what to install.
const LoaderFunctions& system_loader();

}  // namespace skipstone::vk
