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

VkResult Timeline::reach(std::uint64_t value) const {
  DeviceState& state = device->state();
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
  return result;
}

void Timeline::wait(std::uint64_t value) {
  if (value <= completed) return;
  DeviceState& state = device->state();
  if (state.is_lost) state.throw_lost();
  if (value > submitted) fail(Code::internal, "a wait for submission {} of a queue that has had {}", value, submitted);
  const VkResult result = reach(value);
  if (result == VK_ERROR_DEVICE_LOST) {
    state.lose(running);
    state.throw_lost();
  }
  check(result, "vkWaitSemaphores");
  completed = value;
}

bool Timeline::done(std::uint64_t value) {
  if (value <= completed) return true;
  DeviceState& state = device->state();
  if (state.is_lost) state.throw_lost();
  std::uint64_t reached = 0;
  const VkResult result = state.fn.vkGetSemaphoreCounterValue(state.handle, handle, &reached);
  if (result == VK_ERROR_DEVICE_LOST) {
    state.lose(running);
    state.throw_lost();
  }
  check(result, "vkGetSemaphoreCounterValue");
  completed = std::max(completed, std::min(reached, submitted));
  return value <= completed;
}

void Timeline::wait_quietly(std::uint64_t value) noexcept {
  DeviceState& state = device->state();
  if (value <= completed || state.is_lost) return;  // the thread that found it lost has waited
  try {
    if (reach(value) == VK_SUCCESS) return;
  } catch (const std::exception& error) {
    log::debug("while waiting for the device: {}", error.what());
  }
  state.wait_idle();
}

void DeviceState::submit(const VkSubmitInfo& info, VkFence fence, const std::string& what) {
  const QueueLock lock(*this);
  if (is_lost) throw_lost();
  const bool simulated = ++submissions == lose_at;
  const VkResult result = simulated ? VK_ERROR_DEVICE_LOST : fn.vkQueueSubmit(queue, 1, &info, fence);
  if (result == VK_ERROR_DEVICE_LOST) give_up(what);
  // A later wait reports the simulated loss, as it does most real ones.
  if (result == VK_ERROR_DEVICE_LOST && !simulated) throw_lost();
  if (!simulated) check(result, "vkQueueSubmit");
}

void DeviceState::lose(const std::string& what) {
  const QueueLock lock(*this);
  if (!is_lost) give_up(what);
}

void DeviceState::give_up(const std::string& what) {
  idle();
  lost = what;
  is_lost = true;
}

void DeviceState::wait_idle() noexcept {
  const QueueLock lock(*this);
  idle();
}

// A lost device has to be waited for too: its work continues for a while. The call is expected to fail there. On a host's device only
// one queue is ours to wait for.
void DeviceState::idle() const noexcept {
  if (host) {
    fn.vkQueueWaitIdle(queue);
  } else {
    fn.vkDeviceWaitIdle(handle);
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
  // A recording's buffers must not be used by two submissions of it at once.
  state_->buffers.clear();
  for (const Commands* commands : recordings) {
    const CommandsState& recording = commands->state();
    if (recording.timeline != nullptr) recording.timeline->wait(recording.value);
    state_->buffers.push_back(recording.buffer);
  }
  const std::string& first = recordings.front()->state().description;
  timeline.running = recordings.size() == 1 ? first : fmt::format("{} recordings, the first of them {}", recordings.size(), first);
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
  device.submit(info, VK_NULL_HANDLE, timeline.running);
  timeline.submitted = value;
  for (const Commands* commands : recordings) {
    commands->state().timeline = state_->timeline;
    commands->state().value = value;
  }
  return value;
}

void Queue::wait(std::uint64_t value) { state_->timeline->wait(value); }
bool Queue::done(std::uint64_t value) { return state_->timeline->done(value); }

void submit_once(DeviceState& device, const std::function<void(VkCommandBuffer)>& record) {
  struct Objects {
    DeviceState& device;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    bool runs = false;
    ~Objects() {
      if (runs) device.wait_idle();
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
  const std::string what = "the clearing of new memory";
  device.submit(info, objects.fence, what);
  if (device.is_lost) device.throw_lost();
  objects.runs = true;
  const VkResult result = device.fn.vkWaitForFences(device.handle, 1, &objects.fence, VK_TRUE, UINT64_MAX);
  if (result == VK_ERROR_DEVICE_LOST) {
    device.lose(what);
    device.throw_lost();
  }
  check(result, "vkWaitForFences");
  objects.runs = false;
}

}  // namespace skipstone::vk
