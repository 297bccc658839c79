// A Vulkan driver that executes nothing, for tests that need no kernels: what is submitted counts as done when it is waited for, memory
// stays as the host wrote it. Objects and their use are checked (ledger.h), and any call can be made to fail (control.h).
#include "entry_points.h"

#include <cstring>

#include "objects.h"

namespace stub {
namespace {

PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance, const char* name) { return find_entry_point(name); }
PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice, const char* name) { return find_entry_point(name); }

struct EntryPoint {
  const char* name;
  PFN_vkVoidFunction function;
};

// clang-format off
#define STUB_ENTRY(name) { #name, reinterpret_cast<PFN_vkVoidFunction>(name) }
// clang-format on
const EntryPoint entry_points[] = {
    STUB_ENTRY(vkGetInstanceProcAddr),
    STUB_ENTRY(vkGetDeviceProcAddr),
    STUB_ENTRY(vkEnumerateInstanceExtensionProperties),
    STUB_ENTRY(vkEnumerateDeviceExtensionProperties),
    STUB_ENTRY(vkEnumerateInstanceVersion),
    STUB_ENTRY(vkGetPhysicalDeviceProperties),
    STUB_ENTRY(vkGetPhysicalDeviceProperties2),
    STUB_ENTRY(vkGetPhysicalDeviceFeatures),
    STUB_ENTRY(vkGetPhysicalDeviceFeatures2),
    STUB_ENTRY(vkGetPhysicalDeviceMemoryProperties),
    STUB_ENTRY(vkGetPhysicalDeviceMemoryProperties2),
    STUB_ENTRY(vkGetPhysicalDeviceQueueFamilyProperties),
    STUB_ENTRY(vkGetPhysicalDeviceFormatProperties),
    STUB_ENTRY(vkGetPhysicalDeviceImageFormatProperties),
    STUB_ENTRY(vkGetPhysicalDeviceSparseImageFormatProperties),
    STUB_ENTRY(vkCreateInstance),
    STUB_ENTRY(vkDestroyInstance),
    STUB_ENTRY(vkEnumeratePhysicalDevices),
    STUB_ENTRY(vkCreateDevice),
    STUB_ENTRY(vkDestroyDevice),
    STUB_ENTRY(vkGetDeviceQueue),
    STUB_ENTRY(vkAllocateMemory),
    STUB_ENTRY(vkFreeMemory),
    STUB_ENTRY(vkMapMemory),
    STUB_ENTRY(vkUnmapMemory),
    STUB_ENTRY(vkBindBufferMemory),
    STUB_ENTRY(vkGetBufferMemoryRequirements),
    STUB_ENTRY(vkCreateBuffer),
    STUB_ENTRY(vkDestroyBuffer),
    STUB_ENTRY(vkCreateBufferView),
    STUB_ENTRY(vkDestroyBufferView),
    STUB_ENTRY(vkCreateShaderModule),
    STUB_ENTRY(vkDestroyShaderModule),
    STUB_ENTRY(vkCreatePipelineLayout),
    STUB_ENTRY(vkDestroyPipelineLayout),
    STUB_ENTRY(vkCreateComputePipelines),
    STUB_ENTRY(vkDestroyPipeline),
    STUB_ENTRY(vkCreatePipelineCache),
    STUB_ENTRY(vkDestroyPipelineCache),
    STUB_ENTRY(vkGetPipelineCacheData),
    STUB_ENTRY(vkCreateDescriptorSetLayout),
    STUB_ENTRY(vkDestroyDescriptorSetLayout),
    STUB_ENTRY(vkCreateDescriptorPool),
    STUB_ENTRY(vkDestroyDescriptorPool),
    STUB_ENTRY(vkAllocateDescriptorSets),
    STUB_ENTRY(vkUpdateDescriptorSets),
    STUB_ENTRY(vkCreateQueryPool),
    STUB_ENTRY(vkDestroyQueryPool),
    STUB_ENTRY(vkGetQueryPoolResults),
    STUB_ENTRY(vkCreateSemaphore),
    STUB_ENTRY(vkDestroySemaphore),
    STUB_ENTRY(vkCreateFence),
    STUB_ENTRY(vkDestroyFence),
    STUB_ENTRY(vkCreateCommandPool),
    STUB_ENTRY(vkDestroyCommandPool),
    STUB_ENTRY(vkAllocateCommandBuffers),
    STUB_ENTRY(vkBeginCommandBuffer),
    STUB_ENTRY(vkEndCommandBuffer),
    STUB_ENTRY(vkCmdBindPipeline),
    STUB_ENTRY(vkCmdBindDescriptorSets),
    STUB_ENTRY(vkCmdPushConstants),
    STUB_ENTRY(vkCmdDispatch),
    STUB_ENTRY(vkCmdDispatchIndirect),
    STUB_ENTRY(vkCmdCopyBuffer),
    STUB_ENTRY(vkCmdFillBuffer),
    STUB_ENTRY(vkCmdPipelineBarrier),
    STUB_ENTRY(vkCmdResetQueryPool),
    STUB_ENTRY(vkCmdWriteTimestamp),
    STUB_ENTRY(vkCmdBeginConditionalRenderingEXT),
    STUB_ENTRY(vkCmdEndConditionalRenderingEXT),
    STUB_ENTRY(vkQueueSubmit),
    STUB_ENTRY(vkQueueWaitIdle),
    STUB_ENTRY(vkDeviceWaitIdle),
    STUB_ENTRY(vkWaitSemaphores),
    STUB_ENTRY(vkWaitForFences),
    STUB_ENTRY(vkGetSemaphoreCounterValue),
};
#undef STUB_ENTRY

}  // namespace

PFN_vkVoidFunction find_entry_point(const char* name) {
  for (const EntryPoint& entry : entry_points) {
    if (std::strcmp(entry.name, name) == 0) return entry.function;
  }
  return nullptr;
}

}  // namespace stub

extern "C" {

__attribute__((visibility("default"))) VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(std::uint32_t* version) {
  *version = *version < 5 ? *version : 5;
  return VK_SUCCESS;
}

__attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance, const char* name) {
  return stub::find_entry_point(name);
}

}  // extern "C"
