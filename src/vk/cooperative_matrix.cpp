#include "vk/cooperative_matrix.h"

#include <bit>

namespace skipstone::vk {
namespace {

bool usable(const VkCooperativeMatrixPropertiesKHR& p) {
  const bool types = p.AType == VK_COMPONENT_TYPE_FLOAT16_KHR && p.BType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
                     p.CType == VK_COMPONENT_TYPE_FLOAT32_KHR && p.ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR;
  // Shapes that divide the tiles' parts of 16 x 16 and more, and their blocks of 32 products. Rows of 8 halves are the least that can be
  // loaded without more than 16-byte alignment.
  const bool shape = std::has_single_bit(p.MSize) && p.MSize <= 16 && std::has_single_bit(p.NSize) && p.NSize <= 16 &&
                     std::has_single_bit(p.KSize) && p.KSize >= 8 && p.KSize <= 32;
  return types && shape && p.saturatingAccumulation == VK_FALSE && p.scope == VK_SCOPE_SUBGROUP_KHR;
}

}  // namespace

MatrixShape read_cooperative_matrix(const InstanceState& instance, VkPhysicalDevice physical, const Caps& caps) {
  if (!caps.has_extension(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME)) return {};
  auto cooperative = make<VkPhysicalDeviceCooperativeMatrixFeaturesKHR>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR);
  auto v12 = make<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  auto all = make<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  all.pNext = &v12;
  v12.pNext = &cooperative;
  instance.fn.vkGetPhysicalDeviceFeatures2(physical, &all);
  const auto list = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      instance.get(instance.handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  if (cooperative.cooperativeMatrix != VK_TRUE || v12.vulkanMemoryModel != VK_TRUE || list == nullptr) return {};

  std::uint32_t count = 0;
  check(list(physical, &count, nullptr), "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
  std::vector<VkCooperativeMatrixPropertiesKHR> properties(
      count, make<VkCooperativeMatrixPropertiesKHR>(VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR));
  check(list(physical, &count, properties.data()), "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
  properties.resize(count);
  MatrixShape best;
  for (const auto& p : properties) {
    if (usable(p) && p.MSize * p.NSize * p.KSize > best.m * best.n * best.k) best = {p.MSize, p.NSize, p.KSize};
  }
  return best;
}

}  // namespace skipstone::vk
