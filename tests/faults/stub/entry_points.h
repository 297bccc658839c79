// The functions of the driver that physical_device.cpp and work.cpp define; objects.h has the others.
#pragma once

#include "ledger.h"

namespace stub {

// physical_device.cpp
VkResult VKAPI_CALL vkEnumerateInstanceExtensionProperties(const char*, std::uint32_t*, VkExtensionProperties*);
VkResult VKAPI_CALL vkEnumerateDeviceExtensionProperties(VkPhysicalDevice, const char*, std::uint32_t*, VkExtensionProperties*);
VkResult VKAPI_CALL vkEnumerateInstanceVersion(std::uint32_t*);
void VKAPI_CALL vkGetPhysicalDeviceProperties(VkPhysicalDevice, VkPhysicalDeviceProperties*);
void VKAPI_CALL vkGetPhysicalDeviceProperties2(VkPhysicalDevice, VkPhysicalDeviceProperties2*);
void VKAPI_CALL vkGetPhysicalDeviceFeatures(VkPhysicalDevice, VkPhysicalDeviceFeatures*);
void VKAPI_CALL vkGetPhysicalDeviceFeatures2(VkPhysicalDevice, VkPhysicalDeviceFeatures2*);
void VKAPI_CALL vkGetPhysicalDeviceMemoryProperties(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties*);
void VKAPI_CALL vkGetPhysicalDeviceMemoryProperties2(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties2*);
void VKAPI_CALL vkGetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice, std::uint32_t*, VkQueueFamilyProperties*);

// No images; loaders refuse drivers without these.
void VKAPI_CALL vkGetPhysicalDeviceFormatProperties(VkPhysicalDevice, VkFormat, VkFormatProperties*);
VkResult VKAPI_CALL vkGetPhysicalDeviceImageFormatProperties(VkPhysicalDevice, VkFormat, VkImageType, VkImageTiling, VkImageUsageFlags,
                                                             VkImageCreateFlags, VkImageFormatProperties*);
void VKAPI_CALL vkGetPhysicalDeviceSparseImageFormatProperties(VkPhysicalDevice, VkFormat, VkImageType, VkSampleCountFlagBits,
                                                               VkImageUsageFlags, VkImageTiling, std::uint32_t*,
                                                               VkSparseImageFormatProperties*);

// work.cpp
VkResult VKAPI_CALL vkBeginCommandBuffer(VkCommandBuffer, const VkCommandBufferBeginInfo*);
VkResult VKAPI_CALL vkEndCommandBuffer(VkCommandBuffer);
void VKAPI_CALL vkCmdBindPipeline(VkCommandBuffer, VkPipelineBindPoint, VkPipeline);
void VKAPI_CALL vkCmdBindDescriptorSets(VkCommandBuffer, VkPipelineBindPoint, VkPipelineLayout, std::uint32_t, std::uint32_t,
                                        const VkDescriptorSet*, std::uint32_t, const std::uint32_t*);
void VKAPI_CALL vkCmdPushConstants(VkCommandBuffer, VkPipelineLayout, VkShaderStageFlags, std::uint32_t, std::uint32_t, const void*);
void VKAPI_CALL vkCmdDispatch(VkCommandBuffer, std::uint32_t, std::uint32_t, std::uint32_t);
void VKAPI_CALL vkCmdDispatchIndirect(VkCommandBuffer, VkBuffer, VkDeviceSize);
void VKAPI_CALL vkCmdCopyBuffer(VkCommandBuffer, VkBuffer, VkBuffer, std::uint32_t, const VkBufferCopy*);
void VKAPI_CALL vkCmdFillBuffer(VkCommandBuffer, VkBuffer, VkDeviceSize, VkDeviceSize, std::uint32_t);
void VKAPI_CALL vkCmdPipelineBarrier(VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags, VkDependencyFlags, std::uint32_t,
                                     const VkMemoryBarrier*, std::uint32_t, const VkBufferMemoryBarrier*, std::uint32_t,
                                     const VkImageMemoryBarrier*);
void VKAPI_CALL vkCmdResetQueryPool(VkCommandBuffer, VkQueryPool, std::uint32_t, std::uint32_t);
void VKAPI_CALL vkCmdWriteTimestamp(VkCommandBuffer, VkPipelineStageFlagBits, VkQueryPool, std::uint32_t);
void VKAPI_CALL vkCmdBeginConditionalRenderingEXT(VkCommandBuffer, const VkConditionalRenderingBeginInfoEXT*);
void VKAPI_CALL vkCmdEndConditionalRenderingEXT(VkCommandBuffer);
VkResult VKAPI_CALL vkQueueSubmit(VkQueue, std::uint32_t, const VkSubmitInfo*, VkFence);
VkResult VKAPI_CALL vkQueueWaitIdle(VkQueue);
VkResult VKAPI_CALL vkDeviceWaitIdle(VkDevice);
VkResult VKAPI_CALL vkWaitSemaphores(VkDevice, const VkSemaphoreWaitInfo*, std::uint64_t);
VkResult VKAPI_CALL vkWaitForFences(VkDevice, std::uint32_t, const VkFence*, VkBool32, std::uint64_t);
VkResult VKAPI_CALL vkGetSemaphoreCounterValue(VkDevice, VkSemaphore, std::uint64_t*);

}  // namespace stub
