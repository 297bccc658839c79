// Shared by the layer's own sources. Private to src/vk, as is functions.h, the only header of the program that includes Vulkan's.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vk/caps.h"
#include "vk/device.h"
#include "vk/functions.h"
#include "vk/host_device.h"
#include "vk/memory.h"
#include "vk/pipeline.h"
#include "vk/recorder.h"
#include "vk/tuning.h"

namespace skipstone::vk {

/// An otherwise zero structure of the given type.
template <typename Structure>
Structure make(VkStructureType type) {
  Structure structure{};
  structure.sType = type;
  return structure;
}

const char* result_name(VkResult result);

/// Throws out_of_memory, device_lost or internal by `result`, naming `call`; nothing where it is VK_SUCCESS.
void check(VkResult result, const char* call);

struct InstanceState {
  PFN_vkGetInstanceProcAddr get = nullptr;
  VkInstance handle = VK_NULL_HANDLE;
  bool owned = true;  ///< else a host's
  InstanceFunctions fn;
  std::uint32_t api_version = 0;
  DebugFunctions debug;  ///< null functions where the extension is absent
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  std::atomic<std::uint64_t> messages{0};
  std::vector<VkPhysicalDevice> physical;  ///< same order as caps
  std::vector<Caps> caps;
  std::vector<std::string> unsuitable;

  InstanceState() = default;
  InstanceState(const InstanceState&) = delete;
  InstanceState& operator=(const InstanceState&) = delete;
  ~InstanceState();
};

inline constexpr std::uint32_t least_version = VK_API_VERSION_1_2;

bool has_instance_extension(const LoaderFunctions& loader, const char* name);

struct QueueFamily {
  std::uint32_t index = VK_QUEUE_FAMILY_IGNORED;
  bool has_compute = false, has_graphics = false;
  std::uint32_t timestamp_bits = 0;
};
std::vector<QueueFamily> queue_families(const InstanceState& instance, VkPhysicalDevice physical);
/// The family that compute work runs on; one without compute if the device has no other.
QueueFamily choose_queue_family(const InstanceState& instance, VkPhysicalDevice physical);

/// `host`: features that its device was made without are left out.
Caps read_caps(const InstanceState& instance, VkPhysicalDevice physical, std::uint32_t index, const QueueFamily& family,
               const HostDevice* host = nullptr);
/// Why models cannot run there; "" where they can.
std::string why_unsuitable(const Caps& caps, const QueueFamily& family);

/// Those of requirements() that are a device's.
Requirements requirements_of(const InstanceState& instance, VkPhysicalDevice physical, const Caps& caps);

struct DeviceState {
  std::shared_ptr<Instance> instance;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice handle = VK_NULL_HANDLE;
  DeviceFunctions fn;
  VkQueue queue = VK_NULL_HANDLE;
  QueueFamily family;
  VkPhysicalDeviceMemoryProperties memory{};
  bool memory_budget = false;
  bool pipeline_statistics = false;
  bool creation_feedback = false;
  Caps caps;
  Tuning tuning;
  std::optional<HostDevice> host;  ///< the owner of these handles; nullopt for a device of our own
  bool low_priority = false;
  std::shared_ptr<MemoryAccount> account;                                                ///< of several devices
  std::atomic<std::uint64_t> allocated{0};                                               ///< bytes that the account counts
  std::atomic<std::uint64_t> allocated_on_host{0};                                       ///< bytes of Role::host_weights, which it does not
  std::mutex set_layouts_mutex;                                                          ///< pipelines are made by several threads
  std::map<std::pair<std::uint32_t, std::uint32_t>, VkDescriptorSetLayout> set_layouts;  ///< by number of buffers and which are texels

  std::mutex queue_mutex;         ///< see QueueLock
  std::uint64_t submissions = 0;  ///< under it
  std::uint64_t lose_at = 0;      ///< the submission that is reported as lost; 0 for none
  std::atomic<bool> is_lost{false};
  std::string lost;  ///< the work that ran when the device was lost; written once, before is_lost

  DeviceState() = default;
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;
  ~DeviceState();

  VkDescriptorSetLayout set_layout(std::uint32_t bindings, std::uint32_t texel_bindings);
  void name(VkObjectType type, std::uint64_t object, const char* text) const;

  /// Counts `bytes` as held, unless that passes the account's limit, which is none of memory `on_host`.
  bool reserve(std::uint64_t bytes, bool on_host);
  void release(std::uint64_t bytes, bool on_host);

  /// From any thread. `what`: the work in words. Throws device_lost where the device is lost.
  void submit(const VkSubmitInfo& info, VkFence fence, const std::string& what);
  /// Waits until nothing of ours runs on the device any more.
  void wait_idle() noexcept;
  /// The driver has given the device up. Returns when nothing runs on it any more, so that its resources may be freed.
  void lose(const std::string& what);
  [[noreturn]] void throw_lost() const;

 private:
  void give_up(const std::string& what);  ///< under the QueueLock, as idle()
  void idle() const noexcept;
};

/// The right to use a device's queue, which Vulkan gives to one thread at a time: against the other threads that use this device, and
/// against its host.
class QueueLock {
 public:
  explicit QueueLock(DeviceState& device) : device_(device), lock_(device.queue_mutex) {
    if (device_.host && device_.host->lock) device_.host->lock();
  }
  ~QueueLock() {
    if (device_.host && device_.host->unlock) device_.host->unlock();
  }
  QueueLock(const QueueLock&) = delete;
  QueueLock& operator=(const QueueLock&) = delete;

 private:
  DeviceState& device_;
  const std::lock_guard<std::mutex> lock_;
};

/// Handles of VkBuffer and the like as the 64-bit number that debug_utils wants (pointers or integers by platform).
template <typename Handle>
std::uint64_t object_id(Handle handle) {
  return (std::uint64_t)handle;
}

/// Records with `record` and waits for its end; for the few jobs at start that are not worth a Recorder.
void submit_once(DeviceState& device, const std::function<void(VkCommandBuffer)>& record);

/// A VkBuffer bound to its memory from offset 0.
struct Block {
  DeviceState* device = nullptr;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  std::uint64_t bytes = 0;      ///< of the buffer
  std::uint64_t allocated = 0;  ///< of the memory
  bool on_host = false;         ///< Role::host_weights
  std::byte* mapped = nullptr;  ///< always coherent

  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();
};

/// The type of binding `index` under PipelineSpec::texel_bindings.
inline VkDescriptorType binding_type(std::uint32_t texel_bindings, std::size_t index) {
  return (texel_bindings >> index & 1u) != 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

struct PipelineState {
  std::shared_ptr<Device> device;
  VkPipeline handle = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  std::uint32_t bindings = 0;
  std::uint32_t texel_bindings = 0;
  std::uint32_t push_bytes = 0;
  std::string name;
};

/// A timeline semaphore shared by a Queue and the Commands in flight on it.
struct Timeline {
  std::shared_ptr<Device> device;
  VkSemaphore handle = VK_NULL_HANDLE;
  std::uint64_t submitted = 0;
  std::uint64_t completed = 0;  ///< highest value known to be reached
  std::string running;          ///< the last submission, in words

  explicit Timeline(std::shared_ptr<Device> owner);
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  ~Timeline();
  void wait(std::uint64_t value);
  bool done(std::uint64_t value);
  /// For destructors: returns when the device has done with it, whatever goes wrong.
  void wait_quietly(std::uint64_t value) noexcept;

 private:
  VkResult reach(std::uint64_t value) const;
};

struct TimedLabel {
  std::string label;
  VkQueryPool pool = VK_NULL_HANDLE;
  std::uint32_t first = 0;  ///< query of the begin; the end is the next one
};

struct CommandsState {
  std::shared_ptr<Device> device;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer buffer = VK_NULL_HANDLE;
  std::vector<VkDescriptorPool> descriptor_pools;
  std::vector<VkBufferView> views;  ///< of texel bindings
  std::vector<VkQueryPool> query_pools;
  std::vector<TimedLabel> timed;
  std::uint32_t dispatches = 0;
  std::uint32_t barriers = 0;
  std::string description;             ///< "12 dispatches, embed .. argmax"
  std::shared_ptr<Timeline> timeline;  ///< of the last submission
  std::uint64_t value = 0;

  explicit CommandsState(std::shared_ptr<Device> owner) : device(std::move(owner)) {}
  CommandsState(const CommandsState&) = delete;
  CommandsState& operator=(const CommandsState&) = delete;
  ~CommandsState();
};

}  // namespace skipstone::vk
