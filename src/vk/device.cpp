#include "vk/device.h"

#include <algorithm>

#include "base/env.h"
#include "base/log.h"
#include "base/number.h"
#include "base/status.h"
#include "vk/vulkan_state.h"

namespace skipstone::vk {
namespace {

/// SKIPSTONE_TEST_DEVICE_LOST=N: a test's way to see a lost device. The N-th submission of each device (from 1, counted over all
/// of its Queues) is not run and reported as lost by the wait for it.
std::uint64_t simulated_loss() {
  const auto text = env::get("SKIPSTONE_TEST_DEVICE_LOST");
  if (!text) return 0;
  const auto value = parse_number<std::uint64_t>(*text);
  if (!value) fail(Code::invalid_argument, "SKIPSTONE_TEST_DEVICE_LOST is '{}', but must be the number of a submission", *text);
  return *value;
}

/// The extension by which queues can ask for less of the device than other programs' have; null if there is none.
const char* global_priority_extension(const Caps& caps) {
  for (const char* name : {VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME, VK_EXT_GLOBAL_PRIORITY_EXTENSION_NAME}) {
    if (caps.has_extension(name)) return name;
  }
  return nullptr;
}

/// `priority`: the global_priority_extension() to use, or null.
VkResult try_to_create(DeviceState& state, const Requirements& required, const char* priority) {
  std::vector<const char*> extensions;
  for (const Requirement& extension : required.device_extensions) extensions.push_back(extension.name.c_str());
  auto low = make<VkDeviceQueueGlobalPriorityCreateInfoKHR>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO_KHR);
  low.globalPriority = VK_QUEUE_GLOBAL_PRIORITY_LOW_KHR;
  const float among_own = 1.0f;
  auto queue = make<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = state.family.index;
  queue.queueCount = 1;
  queue.pQueuePriorities = &among_own;
  if (priority != nullptr) {
    extensions.push_back(priority);
    queue.pNext = &low;
  }
  auto info = make<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = required.feature_chain.get();
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  return state.instance->state().fn.vkCreateDevice(state.physical, &info, nullptr, &state.handle);
}

void create_handle(DeviceState& state, const Requirements& required, bool low_priority) {
  const char* priority = low_priority ? global_priority_extension(state.caps) : nullptr;
  if (priority != nullptr) state.low_priority = try_to_create(state, required, priority) == VK_SUCCESS;  // some drivers permit none
  if (!state.low_priority) check(try_to_create(state, required, nullptr), "vkCreateDevice");
  if (low_priority) log::info("the queue of '{}' has {} priority", state.caps.name, state.low_priority ? "a low" : "no other");
  state.fn = DeviceFunctions(state.instance->state().fn.vkGetDeviceProcAddr, state.handle);
  state.fn.vkGetDeviceQueue(state.handle, state.family.index, 0, &state.queue);
}

/// Sets the state that depends on the caps, for a device of our own or a host's.
void set_up(DeviceState& state, const DeviceOptions& options, bool executable_info) {
  state.tuning = tuning_for(state.caps);
  state.lose_at = simulated_loss();
  state.account = options.memory ? options.memory : std::make_shared<MemoryAccount>(0);
  state.memory_budget = state.caps.has_extension(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  state.creation_feedback = state.caps.has_extension(VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME);
  state.pipeline_statistics = executable_info && (options.pipeline_statistics || env::flag("SKIPSTONE_PIPELINE_STATISTICS"));
  state.instance->state().fn.vkGetPhysicalDeviceMemoryProperties(state.physical, &state.memory);
  for (const Quirk& quirk : quirks_for(state.caps)) log::info("device quirk {}: {}, because {}", quirk.name, quirk.effect, quirk.reason);
}

}  // namespace

DeviceState::~DeviceState() {
  if (handle == VK_NULL_HANDLE || fn.vkDestroyDevice == nullptr) return;
  if (!host && submissions > 0) wait_idle();  // Mesa's driver without a GPU (kbench --compile) could not
  for (const auto& [kinds, layout] : set_layouts) fn.vkDestroyDescriptorSetLayout(handle, layout, nullptr);
  if (!host) fn.vkDestroyDevice(handle, nullptr);
}

VkDescriptorSetLayout DeviceState::set_layout(std::uint32_t bindings, std::uint32_t texel_bindings) {
  const std::lock_guard lock(set_layouts_mutex);
  VkDescriptorSetLayout& layout = set_layouts[{bindings, texel_bindings}];  // the entry first: nothing fails after the layout is made
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
  const auto set_name = instance->state().debug.vkSetDebugUtilsObjectNameEXT;
  if (set_name == nullptr) return;
  auto info = make<VkDebugUtilsObjectNameInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT);
  info.objectType = type;
  info.objectHandle = object;
  info.pObjectName = text;
  set_name(handle, &info);  // only a help for debuggers: a failure changes nothing
}

bool DeviceState::reserve(std::uint64_t bytes, bool on_host) {
  if (!on_host && !account->take(caps.device_uuid, bytes)) return false;
  (on_host ? allocated_on_host : allocated) += bytes;
  return true;
}

void DeviceState::release(std::uint64_t bytes, bool on_host) {
  (on_host ? allocated_on_host : allocated) -= bytes;
  if (!on_host) account->give_back(caps.device_uuid, bytes);
}

void DeviceState::throw_lost() const {
  fail(Code::device_lost,
       "the driver gave up the device '{}' ({}) while running {}: load the model again; if it happens again, use a smaller batch or "
       "context, update the driver, or choose another device",
       caps.name, caps.driver_name, lost);
}

Device::Device() : state_(std::make_unique<DeviceState>()) {}
Device::~Device() = default;

std::shared_ptr<Device> Device::create(std::shared_ptr<Instance> instance, std::uint32_t index, const DeviceOptions& options) {
  if (const std::string reason = instance->unsuitable(index); !reason.empty()) {
    fail(Code::no_device, "Vulkan device {} cannot run models: {}", index, reason);
  }
  std::shared_ptr<Device> device(new Device);
  DeviceState& state = *device->state_;
  state.instance = std::move(instance);
  const InstanceState& of = state.instance->state();
  state.physical = of.physical[index];
  state.caps = of.caps[index];
  state.family = choose_queue_family(of, state.physical);
  const Requirements required = requirements_of(of, state.physical, state.caps);
  create_handle(state, required, options.low_priority);
  set_up(state, options, std::ranges::find(required.features, "pipelineExecutableInfo", &Requirement::name) != required.features.end());
  return device;
}

std::shared_ptr<Device> Device::wrap(const HostDevice& host, const DeviceOptions& options) {
  if (host.physical_device == nullptr || host.device == nullptr || host.queue == nullptr)
    fail(Code::invalid_argument, "a host's Vulkan device was given without its VkPhysicalDevice, VkDevice or VkQueue");
  if (!host.lock != !host.unlock) fail(Code::invalid_argument, "a host's Vulkan queue was given with one of lock and unlock alone");
  std::shared_ptr<Device> device(new Device);
  DeviceState& state = *device->state_;
  state.instance = Instance::wrap(host);
  state.host = host;
  const InstanceState& of = state.instance->state();
  state.physical = static_cast<VkPhysicalDevice>(host.physical_device);
  const std::vector<QueueFamily> families = queue_families(of, state.physical);
  if (host.queue_family >= families.size()) {
    fail(Code::invalid_argument, "a host's Vulkan queue was said to be of family {}, but there are {}", host.queue_family, families.size());
  }
  state.family = families[host.queue_family];
  state.caps = read_caps(of, state.physical, 0, state.family, &host);
  if (const std::string reason = why_unsuitable(state.caps, state.family); !reason.empty())
    fail(Code::unsupported, "the host's Vulkan device '{}', as it was made, cannot run models: {}", state.caps.name, reason);
  state.fn = DeviceFunctions(of.fn.vkGetDeviceProcAddr, static_cast<VkDevice>(host.device));
  state.handle = static_cast<VkDevice>(host.device);
  state.queue = static_cast<VkQueue>(host.queue);
  set_up(state, options,
         state.caps.has_extension(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME) &&
             std::ranges::find(host.features, "pipelineExecutableInfo") != host.features.end());
  return device;
}

const Caps& Device::caps() const { return state_->caps; }
const Tuning& Device::tuning() const { return state_->tuning; }
void Device::override_tuning(const Tuning& tuning) { state_->tuning = tuning; }
Instance& Device::instance() { return *state_->instance; }
void Device::require_alive() const {
  if (state_->is_lost) state_->throw_lost();
}
std::uint64_t Device::memory_allocated() const { return state_->allocated; }
std::uint64_t Device::host_memory_allocated() const { return state_->allocated_on_host; }
std::uint64_t Device::memory_of_others() const {
  const std::uint64_t own = state_->allocated, all = state_->account->held_on(state_->caps.device_uuid);
  return all - std::min(own, all);
}
std::uint64_t Device::memory_available_alone() const {
  const std::uint64_t own = state_->allocated, heap = state_->caps.device_bytes();
  return std::min(memory_available() + memory_of_others(), heap - std::min(own, heap));
}
bool Device::could_have(std::uint64_t bytes) const {
  return bytes <= std::min(memory_available_alone(), state_->account->left_beside(state_->allocated));
}
MemoryAccount& Device::memory_account() const { return *state_->account; }
bool Device::low_priority() const { return state_->low_priority; }

}  // namespace skipstone::vk
