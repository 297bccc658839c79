#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/log.h"
#include "base/status.h"
#include "vk/vulkan_state.h"

namespace skipstone::vk {
namespace {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

/// volk keeps the loader's functions in globals; creating instances from several threads must not race on them.
std::mutex& loader_mutex() {
  static std::mutex mutex;
  return mutex;
}

void open_loader() {
  if (volkInitialize() != VK_SUCCESS) {
    fail(Code::no_device,
         "no Vulkan loader on this system: libvulkan.so.1 could not be opened; install it (Debian and Ubuntu: libvulkan1) together with "
         "the driver of your GPU (mesa-vulkan-drivers, or the vendor's), then try again");
  }
}

std::vector<std::string> instance_extensions(const char* layer) {
  std::uint32_t count = 0;
  if (vkEnumerateInstanceExtensionProperties(layer, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<VkExtensionProperties> properties(count);
  if (vkEnumerateInstanceExtensionProperties(layer, &count, properties.data()) < 0) return {};
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) names.emplace_back(properties[i].extensionName);
  return names;
}

bool has(const std::vector<std::string>& names, const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); }

bool layer_present(const char* name) {
  std::uint32_t count = 0;
  if (vkEnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  if (vkEnumerateInstanceLayerProperties(&count, layers.data()) < 0) return false;
  return std::any_of(layers.begin(), layers.end(), [&](const auto& layer) { return std::strcmp(layer.layerName, name) == 0; });
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  static_cast<InstanceState*>(user)->messages.fetch_add(1, std::memory_order_relaxed);
  const char* text = data->pMessage != nullptr ? data->pMessage : "";
  log::warning("Vulkan validation: {}", text);
  return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(InstanceState& state) {
  auto info = make<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  // Not GENERAL: there the loader complains about drivers of other devices, which says nothing about our use of the API.
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  info.pfnUserCallback = on_message;
  info.pUserData = &state;
  return info;
}

std::uint32_t usable_version() {
  std::uint32_t loader_version = VK_API_VERSION_1_0;
  if (vkEnumerateInstanceVersion != nullptr) vkEnumerateInstanceVersion(&loader_version);
  if (loader_version < VK_API_VERSION_1_2) {
    fail(Code::no_device, "the Vulkan loader is version {}.{}, but 1.2 is needed: update libvulkan1", VK_API_VERSION_MAJOR(loader_version),
         VK_API_VERSION_MINOR(loader_version));
  }
  return std::min<std::uint32_t>(loader_version, VK_API_VERSION_1_3);
}

/// What vkCreateInstance is asked for; `info` points into the other members.
struct Request {
  std::vector<const char*> extensions, layers;
  VkDebugUtilsMessengerCreateInfoEXT messenger{};
  VkValidationFeatureEnableEXT synchronization = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features = make<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
  VkApplicationInfo application = make<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  VkInstanceCreateInfo info = make<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  bool debug_utils = false;

  Request(InstanceState& state, bool validation) {
    const auto available = instance_extensions(nullptr);
    const auto of_layer = validation ? instance_extensions(validation_layer) : std::vector<std::string>{};
    debug_utils = has(available, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) || has(of_layer, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    if (debug_utils) extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    if (has(available, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
      extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
      info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    }
    if (validation) {
      layers.push_back(validation_layer);
      features.enabledValidationFeatureCount = 1;
      features.pEnabledValidationFeatures = &synchronization;
      if (has(of_layer, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME)) {
        extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
        info.pNext = &features;
      }
      messenger = messenger_info(state);  // for what is said while the instance itself is made
      messenger.pNext = info.pNext;
      if (debug_utils) info.pNext = &messenger;
    }
    application.pApplicationName = "skipstone";
    application.pEngineName = "skipstone";
    application.apiVersion = state.api_version;
    info.pApplicationInfo = &application;
    info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    info.enabledLayerCount = static_cast<std::uint32_t>(layers.size());
    info.ppEnabledLayerNames = layers.data();
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
};

DebugFunctions load_debug_functions(VkInstance instance) {
  const auto load = [&](const char* name) { return vkGetInstanceProcAddr(instance, name); };
  DebugFunctions debug;
  debug.create_messenger = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(load("vkCreateDebugUtilsMessengerEXT"));
  debug.destroy_messenger = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(load("vkDestroyDebugUtilsMessengerEXT"));
  debug.set_name = reinterpret_cast<PFN_vkSetDebugUtilsObjectNameEXT>(load("vkSetDebugUtilsObjectNameEXT"));
  debug.begin_label = reinterpret_cast<PFN_vkCmdBeginDebugUtilsLabelEXT>(load("vkCmdBeginDebugUtilsLabelEXT"));
  debug.end_label = reinterpret_cast<PFN_vkCmdEndDebugUtilsLabelEXT>(load("vkCmdEndDebugUtilsLabelEXT"));
  return debug;
}

void create_handle(InstanceState& state, bool validation) {
  state.api_version = usable_version();
  if (validation && !layer_present(validation_layer)) {
    fail(Code::unsupported,
         "Vulkan validation was asked for, but the layer {} is not installed (Debian and Ubuntu: vulkan-validationlayers)",
         validation_layer);
  }
  const Request request(state, validation);
  const VkResult result = vkCreateInstance(&request.info, nullptr, &state.handle);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    fail(Code::no_device,
         "the Vulkan loader found no driver: install the driver of your GPU, or mesa-vulkan-drivers (its lavapipe runs on any CPU); if "
         "VK_ICD_FILENAMES or VK_DRIVER_FILES is set, check that the files it names exist");
  }
  check(result, "vkCreateInstance");
  volkLoadInstanceOnly(state.handle);
  if (request.debug_utils) state.debug = load_debug_functions(state.handle);
  if (validation && state.debug.create_messenger != nullptr) {
    const auto own = messenger_info(state);
    check(state.debug.create_messenger(state.handle, &own, nullptr, &state.messenger), "vkCreateDebugUtilsMessengerEXT");
  }
}

std::string why_unsuitable(const Caps& caps, VkPhysicalDevice physical) {
  if (choose_queue_family(physical).index == VK_QUEUE_FAMILY_IGNORED) return "it has no compute queue";
  if (!caps.timeline_semaphore) return "it has no timeline semaphores";
  if (caps.max_storage_buffers < 8)
    return fmt::format("a shader can use only {} storage buffers there, 8 are needed", caps.max_storage_buffers);
  if (caps.max_push_bytes < 128) return fmt::format("it takes only {} bytes of push constants, 128 are needed", caps.max_push_bytes);
  if (caps.max_workgroup_invocations < 128)
    return fmt::format("workgroups have at most {} invocations, 128 are needed", caps.max_workgroup_invocations);
  if (caps.subgroup_size < 4) return fmt::format("its subgroups have {} lanes, at least 4 are needed", caps.subgroup_size);
  return {};
}

void list_devices(InstanceState& state) {
  std::uint32_t count = 0;
  check(vkEnumeratePhysicalDevices(state.handle, &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> all(count);
  const VkResult result = vkEnumeratePhysicalDevices(state.handle, &count, all.data());
  if (result != VK_INCOMPLETE) check(result, "vkEnumeratePhysicalDevices");
  all.resize(count);
  for (VkPhysicalDevice physical : all) {
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(physical, &properties);
    if (properties.apiVersion < VK_API_VERSION_1_2) {
      const std::string name = properties.deviceName;
      log::info("Vulkan device '{}' is left out: it has Vulkan {}.{}, 1.2 is needed", name, VK_API_VERSION_MAJOR(properties.apiVersion),
                VK_API_VERSION_MINOR(properties.apiVersion));
      continue;
    }
    Caps caps = read_caps(state, physical, static_cast<std::uint32_t>(state.caps.size()));
    state.unsuitable.push_back(why_unsuitable(caps, physical));
    state.physical.push_back(physical);
    state.caps.push_back(std::move(caps));
  }
}

}  // namespace

const char* result_name(VkResult result) {
  switch (result) {
    case VK_SUCCESS:
      return "VK_SUCCESS";
    case VK_TIMEOUT:
      return "VK_TIMEOUT";
    case VK_INCOMPLETE:
      return "VK_INCOMPLETE";
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST:
      return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_MEMORY_MAP_FAILED:
      return "VK_ERROR_MEMORY_MAP_FAILED";
    case VK_ERROR_LAYER_NOT_PRESENT:
      return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT:
      return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_TOO_MANY_OBJECTS:
      return "VK_ERROR_TOO_MANY_OBJECTS";
    case VK_ERROR_FRAGMENTED_POOL:
      return "VK_ERROR_FRAGMENTED_POOL";
    case VK_ERROR_FRAGMENTATION:
      return "VK_ERROR_FRAGMENTATION";
    case VK_ERROR_OUT_OF_POOL_MEMORY:
      return "VK_ERROR_OUT_OF_POOL_MEMORY";
    case VK_ERROR_INVALID_SHADER_NV:
      return "VK_ERROR_INVALID_SHADER_NV";
    case VK_ERROR_UNKNOWN:
      return "VK_ERROR_UNKNOWN";
    default:
      return "an unnamed VkResult";
  }
}

void check(VkResult result, const char* call) {
  if (result == VK_SUCCESS) return;
  const char* name = result_name(result);
  const int number = result;
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_FRAGMENTATION:
    case VK_ERROR_MEMORY_MAP_FAILED:
    case VK_ERROR_TOO_MANY_OBJECTS:
      fail(Code::out_of_memory, "{} failed with {}: the driver is out of memory; use a smaller model or context, or free memory", call, name);
    case VK_ERROR_DEVICE_LOST:
      fail(Code::device_lost, "{} failed with {}: the driver gave the device up; load the model again", call, name);
    case VK_ERROR_INITIALIZATION_FAILED:
      fail(Code::no_device, "{} failed with {}: the driver could not be started; restart or update it, or choose another device", call, name);
    default:
      break;
  }
  fail(Code::internal, "{} failed with {} ({})", call, name, number);
}

InstanceState::~InstanceState() {
  if (messenger != VK_NULL_HANDLE) debug.destroy_messenger(handle, messenger, nullptr);
  if (handle != VK_NULL_HANDLE) vkDestroyInstance(handle, nullptr);
}

Instance::Instance() : state_(std::make_unique<InstanceState>()) {}
Instance::~Instance() = default;

std::shared_ptr<Instance> Instance::create(bool validation) {
  const std::lock_guard lock(loader_mutex());
  open_loader();
  std::shared_ptr<Instance> instance(new Instance);
  create_handle(*instance->state_, validation);
  list_devices(*instance->state_);
  return instance;
}

const std::vector<Caps>& Instance::devices() const { return state_->caps; }

std::string Instance::unsuitable(std::uint32_t index) const {
  if (index >= state_->unsuitable.size()) return fmt::format("there is no Vulkan device {}", index);
  return state_->unsuitable[index];
}

std::uint64_t Instance::validation_messages() const { return state_->messages.load(std::memory_order_relaxed); }

}  // namespace skipstone::vk
