// A program with a renderer of its own, as Skipstone's host: it makes the Vulkan device, draws a triangle each frame, and destroys
// everything.
#pragma once

#include <vulkan/vulkan.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "vk/host_device.h"

namespace skipstone::engine {

inline void check(VkResult result, const char* what) {
  if (result != VK_SUCCESS) throw std::runtime_error(std::string(what) + " failed with " + std::to_string(result));
}

/// Instance, device and queue, made with all that requirements() lists or with what is needed alone; validated where the layer is
/// installed.
class Host {
 public:
  explicit Host(bool all);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// What the runtime gets of it.
  vk::HostDevice shared();
  VkDevice device() const { return device_; }
  VkPhysicalDevice physical() const { return physical_; }
  std::uint32_t family() const { return family_; }
  /// Under the lock that the runtime takes too.
  void submit(VkCommandBuffer commands, VkFence fence);
  bool validated() const { return messenger_ != VK_NULL_HANDLE; }
  /// Of the validation layer; also what it said when `host` was destroyed.
  static std::uint64_t messages() { return messages_; }
  std::uint64_t locks() const { return locks_; }

 private:
  void make_instance();
  void make_device(bool all);

  static inline std::atomic<std::uint64_t> messages_{0};
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::uint32_t family_ = 0;
  std::vector<std::string> extensions_, features_;
  std::mutex mutex_;
  std::atomic<std::uint64_t> locks_{0};
};

/// Draws a triangle into an image of its own and reads it back.
class Renderer {
 public:
  explicit Renderer(Host& host);
  ~Renderer();
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  /// Whether the triangle is where it should be.
  bool frame();

 private:
  void make_pipeline();
  void make_target();
  void record();
  VkDeviceMemory allocate(const VkMemoryRequirements& needs, VkMemoryPropertyFlags flags) const;

  static constexpr std::uint32_t edge = 64;
  Host& host_;
  VkImage image_ = VK_NULL_HANDLE;
  VkImageView view_ = VK_NULL_HANDLE;
  VkBuffer pixels_ = VK_NULL_HANDLE;
  VkDeviceMemory image_memory_ = VK_NULL_HANDLE, pixel_memory_ = VK_NULL_HANDLE;
  const std::uint32_t* mapped_ = nullptr;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

}  // namespace skipstone::engine
