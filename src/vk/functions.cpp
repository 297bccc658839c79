#include "vk/functions.h"

#include "base/platform/system.h"
#include "base/status.h"

namespace skipstone::vk {
namespace {

template <typename Function, typename Get, typename Handle>
void take(Function& function, Get get, Handle handle, const char* name) {
  function = reinterpret_cast<Function>(get(handle, name));
  if (function == nullptr) fail(Code::no_device, "this Vulkan has no function {}: Vulkan 1.2 is needed, of the instance too", name);
}

template <typename Function, typename Get, typename Handle>
void take_if_there(Function& function, Get get, Handle handle, const char* name) {
  function = reinterpret_cast<Function>(get(handle, name));
}

LoaderFunctions open_loader() {
  for (const char* name : platform::vulkan_loaders()) {
    void* library = platform::open_library(name);  // never closed: drivers leave threads and handlers running
    if (library == nullptr) continue;
    if (const auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(platform::find_symbol(library, "vkGetInstanceProcAddr")))
      return LoaderFunctions(get);
  }
  fail(Code::no_device, "no Vulkan loader on this system: {} could not be opened; {}", platform::vulkan_loaders().front(),
       platform::vulkan_loader_advice());
}

}  // namespace

LoaderFunctions::LoaderFunctions(PFN_vkGetInstanceProcAddr get) : vkGetInstanceProcAddr(get) {
  const VkInstance none = VK_NULL_HANDLE;
  take_if_there(vkEnumerateInstanceVersion, get, none, "vkEnumerateInstanceVersion");
#define SKIPSTONE_TAKE(name) take(name, get, none, #name);
  SKIPSTONE_LOADER_FUNCTIONS(SKIPSTONE_TAKE)
#undef SKIPSTONE_TAKE
}

InstanceFunctions::InstanceFunctions(PFN_vkGetInstanceProcAddr get, VkInstance instance) {
#define SKIPSTONE_TAKE(name) take(name, get, instance, #name);
  SKIPSTONE_INSTANCE_FUNCTIONS(SKIPSTONE_TAKE)
#undef SKIPSTONE_TAKE
}

DebugFunctions::DebugFunctions(PFN_vkGetInstanceProcAddr get, VkInstance instance) {
#define SKIPSTONE_TAKE(name) take_if_there(name, get, instance, #name);
  SKIPSTONE_DEBUG_FUNCTIONS(SKIPSTONE_TAKE)
#undef SKIPSTONE_TAKE
}

DeviceFunctions::DeviceFunctions(PFN_vkGetDeviceProcAddr get, VkDevice device) {
#define SKIPSTONE_TAKE(name) take(name, get, device, #name);
  SKIPSTONE_DEVICE_FUNCTIONS(SKIPSTONE_TAKE)
#undef SKIPSTONE_TAKE
#define SKIPSTONE_TAKE(name) take_if_there(name, get, device, #name);
  SKIPSTONE_DEVICE_EXTENSION_FUNCTIONS(SKIPSTONE_TAKE)
#undef SKIPSTONE_TAKE
}

const LoaderFunctions& system_loader() {
  static const LoaderFunctions loader = open_loader();  // where it throws, the next call tries again
  return loader;
}

}  // namespace skipstone::vk
