// VK_KHR_cooperative_matrix for headers of before version 1.3.255 (Debian 12 has 1.3.239), and the runtime's requirements of it. Private to
// src/vk.
#pragma once

#include "vk/vulkan_state.h"

#ifndef VK_KHR_cooperative_matrix
#define VK_KHR_cooperative_matrix 1
#define VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME "VK_KHR_cooperative_matrix"
inline constexpr auto VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR = static_cast<VkStructureType>(1000506000);
inline constexpr auto VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR = static_cast<VkStructureType>(1000506001);
enum VkComponentTypeKHR : std::int32_t { VK_COMPONENT_TYPE_FLOAT16_KHR = 0, VK_COMPONENT_TYPE_FLOAT32_KHR = 1 };
enum VkScopeKHR : std::int32_t { VK_SCOPE_SUBGROUP_KHR = 3 };
struct VkPhysicalDeviceCooperativeMatrixFeaturesKHR {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrix, cooperativeMatrixRobustBufferAccess;
};
struct VkCooperativeMatrixPropertiesKHR {
  VkStructureType sType;
  void* pNext;
  std::uint32_t MSize, NSize, KSize;
  VkComponentTypeKHR AType, BType, CType, ResultType;
  VkBool32 saturatingAccumulation;
  VkScopeKHR scope;
};
using PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR = VkResult(VKAPI_PTR*)(VkPhysicalDevice, std::uint32_t*,
                                                                                   VkCooperativeMatrixPropertiesKHR*);
#endif

namespace skipstone::vk {

/// The largest shape (M and N up to 16, K up to 32, powers of two) whose factors are halves and whose sums are floats, held by a subgroup.
/// Zeros if there is none, the feature is off, or the device lacks Vulkan's memory model, which such kernels are written in.
MatrixShape read_cooperative_matrix(const InstanceState& instance, VkPhysicalDevice physical, const Caps& caps);

}  // namespace skipstone::vk
