#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/log.h"
#include "base/status.h"
#include "vk/vulkan_state.h"

namespace skipstone::vk {
namespace {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

/// Instances are made one after the other: drivers set themselves up when they are first asked, and not all of them (lavapipe of Mesa
/// 22.3) do so under a lock.
std::mutex& creation_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::vector<std::string> instance_extensions(const LoaderFunctions& loader, const char* layer) {
  std::uint32_t count = 0;
  if (loader.vkEnumerateInstanceExtensionProperties(layer, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<VkExtensionProperties> properties(count);
  if (loader.vkEnumerateInstanceExtensionProperties(layer, &count, properties.data()) < 0) return {};
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) names.emplace_back(properties[i].extensionName);
  return names;
}

bool has(const std::vector<std::string>& names, const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); }

bool layer_present(const LoaderFunctions& loader, const char* name) {
  std::uint32_t count = 0;
  if (loader.vkEnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  if (loader.vkEnumerateInstanceLayerProperties(&count, layers.data()) < 0) return false;
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

std::uint32_t usable_version(const LoaderFunctions& loader) {
  std::uint32_t loader_version = VK_API_VERSION_1_0;
  if (loader.vkEnumerateInstanceVersion != nullptr) loader.vkEnumerateInstanceVersion(&loader_version);
  if (loader_version < least_version) {
    fail(Code::no_device, "the Vulkan loader is version {}.{}, but 1.2 is needed: update libvulkan1", VK_API_VERSION_MAJOR(loader_version),
         VK_API_VERSION_MINOR(loader_version));
  }
  return std::min<std::uint32_t>(loader_version, VK_API_VERSION_1_3);
}

/// The parameters of vkCreateInstance; `info` points into the other members.
struct Request {
  std::vector<const char*> extensions, layers;
  VkDebugUtilsMessengerCreateInfoEXT messenger{};
  VkValidationFeatureEnableEXT synchronization = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features = make<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
  VkApplicationInfo application = make<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  VkInstanceCreateInfo info = make<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  bool debug_utils = false;

  Request(const LoaderFunctions& loader, InstanceState& state, bool validation) {
    const auto available = instance_extensions(loader, nullptr);
    const auto of_layer = validation ? instance_extensions(loader, validation_layer) : std::vector<std::string>{};
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
      messenger = messenger_info(state);  // for messages while the instance itself is made
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

void create_handle(InstanceState& state, bool validation) {
  const LoaderFunctions& loader = system_loader();
  state.get = loader.vkGetInstanceProcAddr;
  state.api_version = usable_version(loader);
  if (validation && !layer_present(loader, validation_layer)) {
    fail(Code::unsupported,
         "Vulkan validation was asked for, but the layer {} is not installed (Debian and Ubuntu: vulkan-validationlayers)",
         validation_layer);
  }
  const Request request(loader, state, validation);
  const VkResult result = loader.vkCreateInstance(&request.info, nullptr, &state.handle);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    fail(Code::no_device,
         "the Vulkan loader found no driver: install the driver of your GPU, or mesa-vulkan-drivers (its lavapipe runs on any CPU); if "
         "VK_ICD_FILENAMES or VK_DRIVER_FILES is set, check that the files it names exist");
  }
  check(result, "vkCreateInstance");
  state.fn = InstanceFunctions(state.get, state.handle);
  if (request.debug_utils) state.debug = DebugFunctions(state.get, state.handle);
  if (validation && state.debug.vkCreateDebugUtilsMessengerEXT != nullptr) {
    const auto own = messenger_info(state);
    check(state.debug.vkCreateDebugUtilsMessengerEXT(state.handle, &own, nullptr, &state.messenger), "vkCreateDebugUtilsMessengerEXT");
  }
}

void list_devices(InstanceState& state) {
  std::uint32_t count = 0;
  check(state.fn.vkEnumeratePhysicalDevices(state.handle, &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> all(count);
  const VkResult result = state.fn.vkEnumeratePhysicalDevices(state.handle, &count, all.data());
  if (result != VK_INCOMPLETE) check(result, "vkEnumeratePhysicalDevices");
  all.resize(count);
  for (VkPhysicalDevice physical : all) {
    VkPhysicalDeviceProperties properties{};
    state.fn.vkGetPhysicalDeviceProperties(physical, &properties);
    if (properties.apiVersion < least_version) {
      const std::string name = properties.deviceName;
      log::info("Vulkan device '{}' is left out: it has Vulkan {}.{}, 1.2 is needed", name, VK_API_VERSION_MAJOR(properties.apiVersion),
                VK_API_VERSION_MINOR(properties.apiVersion));
      continue;
    }
    const QueueFamily family = choose_queue_family(state, physical);
    Caps caps = read_caps(state, physical, static_cast<std::uint32_t>(state.caps.size()), family);
    state.unsuitable.push_back(why_unsuitable(caps, family));
    state.physical.push_back(physical);
    state.caps.push_back(std::move(caps));
  }
}

}  // namespace

bool has_instance_extension(const LoaderFunctions& loader, const char* name) { return has(instance_extensions(loader, nullptr), name); }

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
  if (messenger != VK_NULL_HANDLE) debug.vkDestroyDebugUtilsMessengerEXT(handle, messenger, nullptr);
  if (owned && handle != VK_NULL_HANDLE && fn.vkDestroyInstance != nullptr) fn.vkDestroyInstance(handle, nullptr);
}

Instance::Instance() : state_(std::make_unique<InstanceState>()) {}
Instance::~Instance() = default;

std::shared_ptr<Instance> Instance::create(bool validation) {
  const std::lock_guard lock(creation_mutex());
  std::shared_ptr<Instance> instance(new Instance);
  create_handle(*instance->state_, validation);
  list_devices(*instance->state_);
  return instance;
}

std::shared_ptr<Instance> Instance::wrap(const HostDevice& host) {
  std::shared_ptr<Instance> instance(new Instance);
  InstanceState& state = *instance->state_;
  state.owned = false;
  state.get = host.get_instance_proc_addr == nullptr ? system_loader().vkGetInstanceProcAddr
                                                     : reinterpret_cast<PFN_vkGetInstanceProcAddr>(host.get_instance_proc_addr);
  state.handle = static_cast<VkInstance>(host.instance);
  if (state.handle == VK_NULL_HANDLE) fail(Code::invalid_argument, "a host's Vulkan device was given without its VkInstance");
  state.api_version = std::min<std::uint32_t>(host.api_version == 0 ? least_version : host.api_version, VK_API_VERSION_1_3);
  if (state.api_version < least_version) {
    fail(Code::unsupported, "the host's VkInstance was made for Vulkan {}.{}, 1.2 is needed", VK_API_VERSION_MAJOR(state.api_version),
         VK_API_VERSION_MINOR(state.api_version));
  }
  state.fn = InstanceFunctions(state.get, state.handle);
  // Without the extension a loader may still hand the functions out.
  if (std::ranges::find(host.extensions, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) != host.extensions.end())
    state.debug = DebugFunctions(state.get, state.handle);
  return instance;
}

const std::vector<Caps>& Instance::devices() const { return state_->caps; }

std::string Instance::unsuitable(std::uint32_t index) const {
  if (index >= state_->unsuitable.size()) return fmt::format("there is no Vulkan device {}", index);
  return state_->unsuitable[index];
}

std::uint64_t Instance::validation_messages() const { return state_->messages.load(std::memory_order_relaxed); }

}  // namespace skipstone::vk
