#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/status.h"
#include "vk/cooperative_matrix.h"
#include "vk/vulkan_state.h"

namespace skipstone::vk {
namespace {

/// A structure member that may enable a feature that the runtime uses.
struct FeatureRow {
  VkStructureType type;
  const char* structure;
  std::size_t offset;
  const char* name;
};

#define SKIPSTONE_FEATURE(type, structure, member) \
  { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type, #structure, offsetof(structure, member), #member }
constexpr FeatureRow feature_rows[] = {
    SKIPSTONE_FEATURE(VULKAN_1_1_FEATURES, VkPhysicalDeviceVulkan11Features, storageBuffer16BitAccess),
    SKIPSTONE_FEATURE(16BIT_STORAGE_FEATURES, VkPhysicalDevice16BitStorageFeatures, storageBuffer16BitAccess),
    SKIPSTONE_FEATURE(VULKAN_1_2_FEATURES, VkPhysicalDeviceVulkan12Features, timelineSemaphore),
    SKIPSTONE_FEATURE(TIMELINE_SEMAPHORE_FEATURES, VkPhysicalDeviceTimelineSemaphoreFeatures, timelineSemaphore),
    SKIPSTONE_FEATURE(VULKAN_1_2_FEATURES, VkPhysicalDeviceVulkan12Features, shaderFloat16),
    SKIPSTONE_FEATURE(VULKAN_1_2_FEATURES, VkPhysicalDeviceVulkan12Features, shaderInt8),
    SKIPSTONE_FEATURE(SHADER_FLOAT16_INT8_FEATURES, VkPhysicalDeviceShaderFloat16Int8Features, shaderFloat16),
    SKIPSTONE_FEATURE(SHADER_FLOAT16_INT8_FEATURES, VkPhysicalDeviceShaderFloat16Int8Features, shaderInt8),
    SKIPSTONE_FEATURE(VULKAN_1_2_FEATURES, VkPhysicalDeviceVulkan12Features, storageBuffer8BitAccess),
    SKIPSTONE_FEATURE(8BIT_STORAGE_FEATURES, VkPhysicalDevice8BitStorageFeatures, storageBuffer8BitAccess),
    SKIPSTONE_FEATURE(VULKAN_1_2_FEATURES, VkPhysicalDeviceVulkan12Features, vulkanMemoryModel),
    SKIPSTONE_FEATURE(VULKAN_MEMORY_MODEL_FEATURES, VkPhysicalDeviceVulkanMemoryModelFeatures, vulkanMemoryModel),
    SKIPSTONE_FEATURE(SUBGROUP_SIZE_CONTROL_FEATURES, VkPhysicalDeviceSubgroupSizeControlFeatures, subgroupSizeControl),
    SKIPSTONE_FEATURE(SUBGROUP_SIZE_CONTROL_FEATURES, VkPhysicalDeviceSubgroupSizeControlFeatures, computeFullSubgroups),
    SKIPSTONE_FEATURE(VULKAN_1_3_FEATURES, VkPhysicalDeviceVulkan13Features, subgroupSizeControl),
    SKIPSTONE_FEATURE(VULKAN_1_3_FEATURES, VkPhysicalDeviceVulkan13Features, computeFullSubgroups),
    SKIPSTONE_FEATURE(PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR, VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR,
                      pipelineExecutableInfo),
    SKIPSTONE_FEATURE(CONDITIONAL_RENDERING_FEATURES_EXT, VkPhysicalDeviceConditionalRenderingFeaturesEXT, conditionalRendering),
    SKIPSTONE_FEATURE(COOPERATIVE_MATRIX_FEATURES_KHR, VkPhysicalDeviceCooperativeMatrixFeaturesKHR, cooperativeMatrix),
};
#undef SKIPSTONE_FEATURE

std::vector<const FeatureRow*> features_in(const void* chain) {
  std::vector<const FeatureRow*> found;
  for (auto* structure = static_cast<const VkBaseInStructure*>(chain); structure != nullptr; structure = structure->pNext) {
    for (const FeatureRow& row : feature_rows) {
      VkBool32 value = VK_FALSE;
      if (row.type != structure->sType) continue;
      std::memcpy(&value, reinterpret_cast<const std::byte*>(structure) + row.offset, sizeof value);
      if (value == VK_TRUE) found.push_back(&row);
    }
  }
  return found;
}

/// The feature structures for vkCreateDevice, chained; everything off but the features that `caps` has and the runtime uses.
struct FeatureChain {
  VkPhysicalDeviceFeatures2 core = make<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  VkPhysicalDeviceVulkan11Features v11 = make<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
  VkPhysicalDeviceVulkan12Features v12 = make<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup =
      make<VkPhysicalDeviceSubgroupSizeControlFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable = make<VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR);
  VkPhysicalDeviceConditionalRenderingFeaturesEXT conditional =
      make<VkPhysicalDeviceConditionalRenderingFeaturesEXT>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT);
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR cooperative =
      make<VkPhysicalDeviceCooperativeMatrixFeaturesKHR>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR);
  std::vector<const char*> extensions;

  FeatureChain(const InstanceState& instance, VkPhysicalDevice physical, const Caps& caps) {
    // The driver's support for the features that are not in Caps.
    auto present = make<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    const bool executable_extension = caps.has_extension(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    if (executable_extension) present.pNext = &executable;
    instance.fn.vkGetPhysicalDeviceFeatures2(physical, &present);

    core.features = {};  // robustBufferAccess off: kernels keep their bounds by construction
    v12.timelineSemaphore = VK_TRUE;
    v12.shaderFloat16 = caps.fp16;
    v12.shaderInt8 = caps.int8;
    v12.storageBuffer8BitAccess = caps.storage8;
    v11.storageBuffer16BitAccess = caps.storage16;
    core.pNext = &v11;
    v11.pNext = &v12;
    v12.pNext = nullptr;
    if (caps.subgroup_size_control) {
      subgroup.subgroupSizeControl = VK_TRUE;
      subgroup.computeFullSubgroups = caps.full_subgroups;
      append(subgroup, caps.api_version < VK_API_VERSION_1_3 ? VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME : nullptr);
    }
    if (executable.pipelineExecutableInfo == VK_TRUE) append(executable, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    if (caps.conditional_dispatch) {
      conditional.conditionalRendering = VK_TRUE;
      append(conditional, VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME);
    }
    if (caps.cooperative_matrix.exists()) {
      v12.vulkanMemoryModel = VK_TRUE;  // the SPIR-V of such kernels requires it
      cooperative.cooperativeMatrix = VK_TRUE;
      append(cooperative, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    }
    for (const char* name : {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME, portability_subset}) {
      if (caps.has_extension(name)) extensions.push_back(name);
    }
  }
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;

  static constexpr const char* portability_subset = "VK_KHR_portability_subset";

 private:
  template <typename Structure>
  void append(Structure& structure, const char* extension) {
    structure.pNext = v12.pNext;
    v12.pNext = &structure;
    if (extension != nullptr) extensions.push_back(extension);
  }
};

}  // namespace

Requirements requirements_of(const InstanceState& instance, VkPhysicalDevice physical, const Caps& caps) {
  const auto chain = std::make_shared<FeatureChain>(instance, physical, caps);
  Requirements all;
  all.api_version = least_version;
  for (const char* name : chain->extensions)
    all.device_extensions.push_back({name, "", std::strcmp(name, FeatureChain::portability_subset) == 0});
  for (const FeatureRow* row : features_in(&chain->core))
    all.features.push_back({row->name, row->structure, std::strcmp(row->name, "timelineSemaphore") == 0});
  all.feature_chain = std::shared_ptr<const void>(chain, &chain->core);
  return all;
}

Requirements requirements(void (*get_instance_proc_addr)(), void* instance, void* physical_device, std::uint32_t api_version) {
  Requirements all;
  all.api_version = least_version;
  if (instance != nullptr) {
    HostDevice host;
    host.get_instance_proc_addr = get_instance_proc_addr;
    host.instance = instance;
    host.api_version = api_version;
    const auto adopted = Instance::wrap(host);
    const auto physical = static_cast<VkPhysicalDevice>(physical_device);
    if (physical == VK_NULL_HANDLE) fail(Code::invalid_argument, "what a device must have was asked for without a VkPhysicalDevice");
    const QueueFamily family = choose_queue_family(adopted->state(), physical);
    const Caps caps = read_caps(adopted->state(), physical, 0, family);
    all = requirements_of(adopted->state(), physical, caps);
    all.queue_family = family.index;
    all.unsuitable = why_unsuitable(caps, family);
  } else if (physical_device != nullptr) {
    fail(Code::invalid_argument, "what a VkPhysicalDevice must have can be said only with its VkInstance");
  }
  const LoaderFunctions loader = get_instance_proc_addr == nullptr
                                     ? system_loader()
                                     : LoaderFunctions(reinterpret_cast<PFN_vkGetInstanceProcAddr>(get_instance_proc_addr));
  if (has_instance_extension(loader, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME))
    all.instance_extensions.push_back({VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME, "", false});
  return all;
}

std::vector<std::string> enabled_features(const void* chain) {
  std::vector<std::string> names;
  for (const FeatureRow* row : features_in(chain)) names.emplace_back(row->name);
  return names;
}

}  // namespace skipstone::vk
