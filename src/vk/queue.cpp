#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/status.h"
#include "vk/vulkan_state.h"

namespace skipstone::vk {

Timeline::Timeline(std::shared_ptr<Device> owner) : device(std::move(owner)) {
  DeviceState& state = device->state();
  auto type = make<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  auto info = make<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  info.pNext = &type;
  check(state.fn.vkCreateSemaphore(state.handle, &info, nullptr, &handle), "vkCreateSemaphore");
}

Timeline::~Timeline() {
  DeviceState& state = device->state();
  if (handle != VK_NULL_HANDLE) state.fn.vkDestroySemaphore(state.handle, handle, nullptr);
}

void Timeline::wait(std::uint64_t value) {
  if (value <= completed) return;
  DeviceState& state = device->state();
  if (!state.lost.empty()) state.throw_lost();
  if (value > submitted) fail(Code::internal, "a wait for submission {} of a queue that has had {}", value, submitted);
  auto info = make<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  info.semaphoreCount = 1;
  info.pSemaphores = &handle;
  info.pValues = &value;
  // Without an end, but in slices: a driver that hangs leaves a line in the log.
  constexpr std::uint64_t slice_ns = 10'000'000'000;
  VkResult result = VK_TIMEOUT;
  for (int slices = 1; result == VK_TIMEOUT; ++slices) {
    result = state.fn.vkWaitSemaphores(state.handle, &info, slice_ns);
    if (result == VK_TIMEOUT) log::warning("the device '{}' has been running {} for {} s", state.caps.name, running, slices * 10);
  }
  if (result == VK_ERROR_DEVICE_LOST) {
    state.lost = running;
    state.throw_lost();
  }
  check(result, "vkWaitSemaphores");
  completed = value;
}

void Timeline::wait_quietly(std::uint64_t value) noexcept {
  try {
    if (device->state().lost.empty()) wait(value);
  } catch (const std::exception& error) {
    log::debug("while waiting for the device: {}", error.what());
  }
}

struct Queue::State {
  std::shared_ptr<Timeline> timeline;
  std::vector<VkCommandBuffer> buffers;  // of the submission being made; kept for its memory
};

Queue::Queue(std::shared_ptr<Device> device) : state_(std::make_unique<State>()) {
  state_->timeline = std::make_shared<Timeline>(std::move(device));
}
Queue::~Queue() { state_->timeline->wait_quietly(state_->timeline->submitted); }

std::uint64_t Queue::submit(const Commands& commands) {
  const Commands* one = &commands;
  return submit({&one, 1});
}

std::uint64_t Queue::submit(std::span<const Commands* const> recordings) {
  if (recordings.empty()) fail(Code::internal, "a submission has no recordings");
  Timeline& timeline = *state_->timeline;
  DeviceState& device = timeline.device->state();
  if (!device.lost.empty()) device.throw_lost();
  // What a recording works on is not to be worked on twice at once.
  state_->buffers.clear();
  for (const Commands* commands : recordings) {
    const CommandsState& recording = commands->state();
    if (recording.timeline != nullptr) recording.timeline->wait(recording.value);
    state_->buffers.push_back(recording.buffer);
  }
  const std::string& first = recordings.front()->state().description;
  timeline.running = recordings.size() == 1 ? first : fmt::format("{} recordings, the first of them {}", recordings.size(), first);
  if (++device.submissions == device.lose_at) {
    device.fn.vkDeviceWaitIdle(device.handle);  // the device is well: nothing may be destroyed under what it still runs
    device.lost = timeline.running;
    return ++timeline.submitted;
  }
  const std::uint64_t value = timeline.submitted + 1;
  auto values = make<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  values.signalSemaphoreValueCount = 1;
  values.pSignalSemaphoreValues = &value;
  auto info = make<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.pNext = &values;
  info.commandBufferCount = static_cast<std::uint32_t>(state_->buffers.size());
  info.pCommandBuffers = state_->buffers.data();
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &timeline.handle;
  const VkResult result = device.fn.vkQueueSubmit(device.queue, 1, &info, VK_NULL_HANDLE);
  if (result == VK_ERROR_DEVICE_LOST) {
    device.fn.vkDeviceWaitIdle(device.handle);  // what a lost device runs goes on for a while
    device.lost = timeline.running;
    device.throw_lost();
  }
  check(result, "vkQueueSubmit");
  timeline.submitted = value;
  for (const Commands* commands : recordings) {
    commands->state().timeline = state_->timeline;
    commands->state().value = value;
  }
  return value;
}

void Queue::wait(std::uint64_t value) { state_->timeline->wait(value); }

void submit_once(DeviceState& device, const std::function<void(VkCommandBuffer)>& record) {
  if (!device.lost.empty()) device.throw_lost();
  struct Objects {
    DeviceState& device;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    ~Objects() {
      device.fn.vkDestroyFence(device.handle, fence, nullptr);
      device.fn.vkDestroyCommandPool(device.handle, pool, nullptr);
    }
  } objects{device};
  auto pool = make<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  pool.queueFamilyIndex = device.family.index;
  check(device.fn.vkCreateCommandPool(device.handle, &pool, nullptr, &objects.pool), "vkCreateCommandPool");
  auto fence = make<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  check(device.fn.vkCreateFence(device.handle, &fence, nullptr, &objects.fence), "vkCreateFence");
  auto allocation = make<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  allocation.commandPool = objects.pool;
  allocation.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocation.commandBufferCount = 1;
  VkCommandBuffer buffer = VK_NULL_HANDLE;
  check(device.fn.vkAllocateCommandBuffers(device.handle, &allocation, &buffer), "vkAllocateCommandBuffers");
  auto begin = make<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(device.fn.vkBeginCommandBuffer(buffer, &begin), "vkBeginCommandBuffer");
  record(buffer);
  check(device.fn.vkEndCommandBuffer(buffer), "vkEndCommandBuffer");
  auto info = make<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &buffer;
  VkResult result = device.fn.vkQueueSubmit(device.queue, 1, &info, objects.fence);
  if (result == VK_SUCCESS) result = device.fn.vkWaitForFences(device.handle, 1, &objects.fence, VK_TRUE, UINT64_MAX);
  if (result != VK_SUCCESS) device.fn.vkDeviceWaitIdle(device.handle);  // it may run all the same
  if (result == VK_ERROR_DEVICE_LOST) {
    device.lost = "the clearing of new memory";
    device.throw_lost();
  }
  check(result, "vkQueueSubmit");
}

}  // namespace skipstone::vk
