// A program that uses Vulkan by itself, as a game does, and a model beside it: vulkan_host MODEL. Built once on the loader's functions and
// once (HOST_USES_VOLK) on its own volk, whose functions are global variables of the same names. Prints the model's text.
#ifdef HOST_USES_VOLK
#define VOLK_IMPLEMENTATION
#include <volk.h>
#else
#include <vulkan/vulkan.h>
#endif

#include <cstdio>
#include <exception>
#include <skipstone/skipstone.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(VkResult result) {
  if (result != VK_SUCCESS) throw std::runtime_error("the host's own Vulkan call failed with " + std::to_string(result));
}

/// The host's device; made and used through its own functions.
struct Host {
  VkInstance instance = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  std::string name;

  Host() {
#ifdef HOST_USES_VOLK
    check(volkInitialize());
#endif
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    check(vkCreateInstance(&info, nullptr, &instance));
#ifdef HOST_USES_VOLK
    volkLoadInstance(instance);
#endif
    std::uint32_t count = 1;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    if (const VkResult result = vkEnumeratePhysicalDevices(instance, &count, &physical); result != VK_INCOMPLETE) check(result);
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(physical, &properties);
    name = properties.deviceName;
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo of_queue{};
    of_queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    of_queue.queueCount = 1;
    of_queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo of_device{};
    of_device.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    of_device.queueCreateInfoCount = 1;
    of_device.pQueueCreateInfos = &of_queue;
    check(vkCreateDevice(physical, &of_device, nullptr, &device));
#ifdef HOST_USES_VOLK
    volkLoadDevice(device);
#endif
    vkGetDeviceQueue(device, 0, 0, &queue);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// A frame's worth of calls: what would crash where the library's symbols had taken the place of the host's.
  void frame() const {
    VkSubmitInfo nothing{};
    nothing.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    check(vkQueueSubmit(queue, 1, &nothing, VK_NULL_HANDLE));
    check(vkDeviceWaitIdle(device));
  }

  ~Host() {
    vkDestroyDevice(device, nullptr);
    vkDestroyInstance(instance, nullptr);
  }
};

}  // namespace

int main(int, char** arguments) try {
  const Host host;
  host.frame();
  skipstone_engine_params params = skipstone::engine_params();
  params.model_path = arguments[1];
  std::string text;
  {
    const skipstone::Engine engine(params);
    skipstone::Session session(engine);
    session.generate(engine.tokenize("def add(a, b):"), 8, [&](const skipstone_chunk& chunk) {
      text.append(chunk.text, chunk.bytes);
      host.frame();
      return true;
    });
  }
  host.frame();
  std::printf("%s\n", text.c_str());
  std::fprintf(stderr, "the host's device is %s\n", host.name.c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
