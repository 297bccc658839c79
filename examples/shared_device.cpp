// A model on the Vulkan device of the program around: one queue, used by a frame loop and by the model. usage: shared_device MODEL.gguf
// TEXT
#include <skipstone/vulkan.h>
#include <vulkan/vulkan.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <skipstone/skipstone.hpp>
#include <thread>

int failed(const char* what) { return std::fprintf(stderr, "error: %s\n", what), 1; }

int main(int count, char** arguments) {
  if (count != 3) return std::fprintf(stderr, "usage: shared_device MODEL.gguf TEXT\n"), 2;
  const VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO, nullptr, nullptr, 0, nullptr, 0, VK_API_VERSION_1_2};
  const VkInstanceCreateInfo of_instance{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, nullptr, 0, &application, 0, nullptr, 0, nullptr};
  skipstone_vulkan_host host;
  skipstone_vulkan_host_init(&host, sizeof(host));
  uint32_t one = 1;
  if (vkCreateInstance(&of_instance, nullptr, &host.instance) != VK_SUCCESS) return failed("no Vulkan instance");
  if (vkEnumeratePhysicalDevices(host.instance, &one, &host.physical_device) < 0 || one == 0) return failed("no Vulkan device");
  // What the model wants of the device; a renderer adds what it wants itself.
  skipstone_vulkan_needs needs{};
  needs.struct_size = sizeof(needs);
  if (skipstone_vulkan_requirements(&host, &needs) != SKIPSTONE_OK) return failed(skipstone_last_error());
  const float priority = 1;
  const VkDeviceQueueCreateInfo of_queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, nullptr, 0, needs.queue_family, 1, &priority};
  VkDeviceCreateInfo of_device{};
  of_device.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  of_device.pNext = needs.feature_chain;
  of_device.queueCreateInfoCount = 1;
  of_device.pQueueCreateInfos = &of_queue;
  of_device.enabledExtensionCount = static_cast<uint32_t>(needs.device_extension_count);
  of_device.ppEnabledExtensionNames = needs.device_extensions;
  if (vkCreateDevice(host.physical_device, &of_device, nullptr, &host.device) != VK_SUCCESS) return failed("no Vulkan device");
  vkGetDeviceQueue(host.device, needs.queue_family, 0, &host.queue);
  host.queue_family = needs.queue_family;
  host.extensions = needs.device_extensions;
  host.extension_count = needs.device_extension_count;
  host.feature_chain = needs.feature_chain;
  std::mutex queue_mutex;
  host.user_data = &queue_mutex;
  host.lock = [](void* mutex) { static_cast<std::mutex*>(mutex)->lock(); };
  host.unlock = [](void* mutex) { static_cast<std::mutex*>(mutex)->unlock(); };

  std::atomic<bool> done{false};
  int frames = 0;
  std::thread frame_loop([&] {
    for (; !done; ++frames) {
      VkSubmitInfo frame{};  // a renderer's command buffers go here
      frame.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
      queue_mutex.lock();
      vkQueueSubmit(host.queue, 1, &frame, VK_NULL_HANDLE);
      queue_mutex.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(16));
    }
  });
  int result = 0;
  try {
    skipstone_engine_params params = skipstone::engine_params();
    params.model_path = arguments[1];
    params.vulkan = &host;
    const skipstone::Engine engine(params);
    skipstone::Session session(engine);
    session.generate(engine.tokenize(arguments[2]), 32, [](const skipstone_chunk& chunk) { return std::fputs(chunk.text, stdout) >= 0; });
  } catch (const skipstone::error& error) {
    result = failed(error.what());
  }
  done = true;
  frame_loop.join();
  std::printf("\n%d frames meanwhile\n", frames);
  skipstone_vulkan_needs_free(&needs);
  vkDeviceWaitIdle(host.device);
  vkDestroyDevice(host.device, nullptr);
  vkDestroyInstance(host.instance, nullptr);
  return result;
}
