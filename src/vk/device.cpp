#include "vk/device.h"

#include <algorithm>
#include <charconv>

#include "base/env.h"
#include "base/log.h"
#include "base/status.h"
#include "vk/cooperative_matrix.h"
#include "vk/vulkan_state.h"

namespace skipstone::vk {
namespace {

bool has(const Caps& caps, const char* extension) {
  return std::binary_search(caps.extensions.begin(), caps.extensions.end(), std::string(extension));
}

/// SKIPSTONE_TEST_DEVICE_LOST=N: a test's way to see a lost device. The N-th submission of each device (from 1, counted over all
/// of its Queues) is not run and reported as lost by the wait for it.
std::uint64_t simulated_loss() {
  const auto text = env::get("SKIPSTONE_TEST_DEVICE_LOST");
  if (!text) return 0;
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || stop != text->data() + text->size()) {
    fail(Code::invalid_argument, "SKIPSTONE_TEST_DEVICE_LOST is '{}', but must be the number of a submission", *text);
  }
  return value;
}

/// The feature structures for vkCreateDevice, chained; everything off but what `caps` has and the runtime uses.
struct Features {
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

  Features(VkPhysicalDevice physical, const Caps& caps) {
    // What the driver has of the features that are not in Caps.
    auto present = make<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    const bool executable_extension = has(caps, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    if (caps.subgroup_size_control) subgroup.pNext = present.pNext, present.pNext = &subgroup;
    if (executable_extension) executable.pNext = present.pNext, present.pNext = &executable;
    vkGetPhysicalDeviceFeatures2(physical, &present);

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
      subgroup.pNext = const_cast<void*>(v12.pNext);
      v12.pNext = &subgroup;
      if (caps.api_version < VK_API_VERSION_1_3) extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    }
    if (executable_extension && executable.pipelineExecutableInfo == VK_TRUE) {
      executable.pNext = const_cast<void*>(v12.pNext);
      v12.pNext = &executable;
      extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    }
    if (caps.conditional_dispatch) {
      conditional.conditionalRendering = VK_TRUE;
      conditional.pNext = const_cast<void*>(v12.pNext);
      v12.pNext = &conditional;
      extensions.push_back(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME);
    }
    if (caps.cooperative_matrix.exists()) {
      v12.vulkanMemoryModel = VK_TRUE;  // what the compiler makes of such kernels is written in it
      cooperative.cooperativeMatrix = VK_TRUE;
      cooperative.pNext = const_cast<void*>(v12.pNext);
      v12.pNext = &cooperative;
      extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    }
    for (const char* name :
         {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME, "VK_KHR_portability_subset"}) {
      if (has(caps, name)) extensions.push_back(name);
    }
  }
  bool statistics() const { return executable.pipelineExecutableInfo == VK_TRUE; }
};

void create_handle(DeviceState& state, bool pipeline_statistics) {
  const Features features(state.physical, state.caps);
  const float priority = 1.0f;
  auto queue = make<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = state.family.index;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto info = make<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = &features.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(features.extensions.size());
  info.ppEnabledExtensionNames = features.extensions.data();
  check(vkCreateDevice(state.physical, &info, nullptr, &state.handle), "vkCreateDevice");
  volkLoadDeviceTable(&state.fn, state.handle);
  state.fn.vkGetDeviceQueue(state.handle, state.family.index, 0, &state.queue);
  state.memory_budget = has(state.caps, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  state.creation_feedback = has(state.caps, VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME);
  state.pipeline_statistics = features.statistics() && (pipeline_statistics || env::flag("SKIPSTONE_PIPELINE_STATISTICS"));
}

}  // namespace

DeviceState::~DeviceState() {
  if (handle == VK_NULL_HANDLE) return;
  fn.vkDeviceWaitIdle(handle);
  for (const auto& [kinds, layout] : set_layouts) fn.vkDestroyDescriptorSetLayout(handle, layout, nullptr);
  fn.vkDestroyDevice(handle, nullptr);
}

VkDescriptorSetLayout DeviceState::set_layout(std::uint32_t bindings, std::uint32_t texel_bindings) {
  const std::lock_guard lock(set_layouts_mutex);
  VkDescriptorSetLayout& layout = set_layouts[{bindings, texel_bindings}];  // first the place: nothing fails behind the layout
  if (layout != VK_NULL_HANDLE) return layout;
  std::vector<VkDescriptorSetLayoutBinding> list(bindings);
  for (std::uint32_t i = 0; i < bindings; ++i) {
    list[i].binding = i;
    list[i].descriptorType = binding_type(texel_bindings, i);
    list[i].descriptorCount = 1;
    list[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  auto info = make<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  info.bindingCount = bindings;
  info.pBindings = list.data();
  check(fn.vkCreateDescriptorSetLayout(handle, &info, nullptr, &layout), "vkCreateDescriptorSetLayout");
  return layout;
}

void DeviceState::name(VkObjectType type, std::uint64_t object, const char* text) const {
  const auto set_name = instance->state().debug.set_name;
  if (set_name == nullptr) return;
  auto info = make<VkDebugUtilsObjectNameInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT);
  info.objectType = type;
  info.objectHandle = object;
  info.pObjectName = text;
  set_name(handle, &info);  // only a help for debuggers: a failure changes nothing
}

void DeviceState::throw_lost() const {
  fail(Code::device_lost,
       "the driver gave up the device '{}' ({}) while running {}: load the model again; if it happens again, use a smaller batch or "
       "context, update the driver, or choose another device",
       caps.name, caps.driver_name, lost);
}

Device::Device() : state_(std::make_unique<DeviceState>()) {}
Device::~Device() = default;

std::shared_ptr<Device> Device::create(std::shared_ptr<Instance> instance, std::uint32_t index, bool pipeline_statistics) {
  if (const std::string reason = instance->unsuitable(index); !reason.empty()) {
    fail(Code::no_device, "Vulkan device {} cannot run models: {}", index, reason);
  }
  std::shared_ptr<Device> device(new Device);
  DeviceState& state = *device->state_;
  state.physical = instance->state().physical[index];
  state.caps = instance->devices()[index];
  state.instance = std::move(instance);
  state.tuning = tuning_for(state.caps);
  state.family = choose_queue_family(state.physical);
  state.lose_at = simulated_loss();
  vkGetPhysicalDeviceMemoryProperties(state.physical, &state.memory);
  create_handle(state, pipeline_statistics);
  for (const Quirk& quirk : quirks_for(state.caps)) log::info("device quirk {}: {}, because {}", quirk.name, quirk.effect, quirk.reason);
  return device;
}

const Caps& Device::caps() const { return state_->caps; }
const Tuning& Device::tuning() const { return state_->tuning; }
void Device::override_tuning(const Tuning& tuning) { state_->tuning = tuning; }
Instance& Device::instance() { return *state_->instance; }
std::uint64_t Device::memory_allocated() const { return state_->allocated; }

}  // namespace skipstone::vk
