// Recording, submitting and waiting. Work is done when it is waited for, so that what is freed before that shows.
#include <algorithm>
#include <utility>

#include "entry_points.h"

namespace stub {
namespace {

void use(VkCommandBuffer commands, Id id, const char* type) {
  ledger().find(id, type);
  Object* buffer = ledger().find_alone(dispatchable_id(commands), "command buffer");
  if (buffer == nullptr) return;
  ledger().find_alone(buffer->parent, "command pool");
  const auto note = [&](Id each) {
    if (std::find(buffer->uses.begin(), buffer->uses.end(), each) == buffer->uses.end()) buffer->uses.push_back(each);
  };
  note(id);
  if (const Object* object = ledger().find(id, type)) {
    for (const Id each : object->uses) note(each);  // a set's buffers, a buffer's memory
  }
}

void count_command(VkCommandBuffer commands) {
  if (Object* buffer = ledger().find_alone(dispatchable_id(commands), "command buffer")) ++buffer->commands;
}

/// The result of a call that waits: as far as objects in use are concerned, a lost device has waited too.
VkResult waited() { return ledger().lost() ? VK_ERROR_DEVICE_LOST : VK_SUCCESS; }

constexpr std::initializer_list<VkResult> of_waits = {no_host_memory, no_device_memory, VK_ERROR_DEVICE_LOST};

VkResult wait_idle(const char* call) {
  const std::lock_guard lock(ledger().mutex);
  const VkResult failed = ledger().enter(call, of_waits);
  if (failed != VK_SUCCESS && failed != VK_ERROR_DEVICE_LOST) return failed;
  ledger().complete_all();
  return waited();
}

}  // namespace

VkResult VKAPI_CALL vkBeginCommandBuffer(VkCommandBuffer commands, const VkCommandBufferBeginInfo*) {
  const std::lock_guard lock(ledger().mutex);
  if (const VkResult failed = ledger().enter("vkBeginCommandBuffer", {no_host_memory, no_device_memory})) return failed;
  Object* buffer = ledger().find_alone(dispatchable_id(commands), "command buffer");
  if (buffer == nullptr) return VK_SUCCESS;
  ledger().find_alone(buffer->parent, "command pool");
  if (buffer->pending != 0) ledger().misuse("a command buffer was recorded while it runs");
  buffer->uses.clear();
  buffer->commands = 0;
  return VK_SUCCESS;
}

VkResult VKAPI_CALL vkEndCommandBuffer(VkCommandBuffer commands) {
  const std::lock_guard lock(ledger().mutex);
  if (const VkResult failed = ledger().enter("vkEndCommandBuffer", {no_host_memory, no_device_memory})) return failed;
  if (Object* buffer = ledger().find_alone(dispatchable_id(commands), "command buffer")) buffer->value = 1;  // recorded
  return VK_SUCCESS;
}

void VKAPI_CALL vkCmdBindPipeline(VkCommandBuffer commands, VkPipelineBindPoint, VkPipeline pipeline) {
  const std::lock_guard lock(ledger().mutex);
  use(commands, id_of(pipeline), "pipeline");
}

void VKAPI_CALL vkCmdBindDescriptorSets(VkCommandBuffer commands, VkPipelineBindPoint, VkPipelineLayout layout, std::uint32_t,
                                        std::uint32_t count, const VkDescriptorSet* sets, std::uint32_t, const std::uint32_t*) {
  const std::lock_guard lock(ledger().mutex);
  ledger().find(id_of(layout), "pipeline layout");
  for (std::uint32_t i = 0; i < count; ++i) use(commands, id_of(sets[i]), "descriptor set");
}

void VKAPI_CALL vkCmdPushConstants(VkCommandBuffer, VkPipelineLayout, VkShaderStageFlags, std::uint32_t, std::uint32_t, const void*) {}

void VKAPI_CALL vkCmdDispatch(VkCommandBuffer commands, std::uint32_t, std::uint32_t, std::uint32_t) {
  const std::lock_guard lock(ledger().mutex);
  count_command(commands);
}

void VKAPI_CALL vkCmdDispatchIndirect(VkCommandBuffer commands, VkBuffer arguments, VkDeviceSize) {
  const std::lock_guard lock(ledger().mutex);
  use(commands, id_of(arguments), "buffer");
  count_command(commands);
}

void VKAPI_CALL vkCmdCopyBuffer(VkCommandBuffer commands, VkBuffer from, VkBuffer to, std::uint32_t, const VkBufferCopy*) {
  const std::lock_guard lock(ledger().mutex);
  use(commands, id_of(from), "buffer");
  use(commands, id_of(to), "buffer");
  count_command(commands);
}

void VKAPI_CALL vkCmdFillBuffer(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize, VkDeviceSize, std::uint32_t) {
  const std::lock_guard lock(ledger().mutex);
  use(commands, id_of(buffer), "buffer");
  count_command(commands);
}

void VKAPI_CALL vkCmdPipelineBarrier(VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags, VkDependencyFlags, std::uint32_t,
                                     const VkMemoryBarrier*, std::uint32_t, const VkBufferMemoryBarrier*, std::uint32_t,
                                     const VkImageMemoryBarrier*) {}

void VKAPI_CALL vkCmdResetQueryPool(VkCommandBuffer commands, VkQueryPool pool, std::uint32_t, std::uint32_t) {
  const std::lock_guard lock(ledger().mutex);
  use(commands, id_of(pool), "query pool");
}

void VKAPI_CALL vkCmdWriteTimestamp(VkCommandBuffer commands, VkPipelineStageFlagBits, VkQueryPool pool, std::uint32_t) {
  const std::lock_guard lock(ledger().mutex);
  use(commands, id_of(pool), "query pool");
}

void VKAPI_CALL vkCmdBeginConditionalRenderingEXT(VkCommandBuffer commands, const VkConditionalRenderingBeginInfoEXT* info) {
  const std::lock_guard lock(ledger().mutex);
  use(commands, id_of(info->buffer), "buffer");
}

void VKAPI_CALL vkCmdEndConditionalRenderingEXT(VkCommandBuffer) {}

// ---- queues

VkResult VKAPI_CALL vkQueueSubmit(VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
  const std::lock_guard lock(ledger().mutex);
  const VkResult failed = ledger().enter("vkQueueSubmit", of_waits);
  if (failed != VK_SUCCESS && failed != VK_ERROR_DEVICE_LOST) return failed;
  // With a lost device too: the work then counts as submitted (chapter "Lost Device" of the specification).
  ledger().find_alone(dispatchable_id(queue), "queue");
  for (std::uint32_t i = 0; i < count; ++i) {
    Submission submission;
    for (std::uint32_t c = 0; c < infos[i].commandBufferCount; ++c) {
      const Id id = dispatchable_id(infos[i].pCommandBuffers[c]);
      const Object* commands = ledger().find(id, "command buffer");
      if (commands != nullptr && commands->value != 1) ledger().misuse("a command buffer was submitted that was not recorded to its end");
      if (commands != nullptr) {
        for (const Id used : commands->uses) {
          if (!ledger().contains(used)) ledger().misuse("a command buffer was submitted of which something was destroyed");
        }
      }
      submission.commands.push_back(id);
    }
    if (infos[i].signalSemaphoreCount > 0) {
      submission.semaphore = id_of(infos[i].pSignalSemaphores[0]);
      ledger().find(submission.semaphore, "semaphore");
      for (auto* each = static_cast<const VkBaseInStructure*>(infos[i].pNext); each != nullptr; each = each->pNext) {
        if (each->sType != VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO) continue;
        submission.value = reinterpret_cast<const VkTimelineSemaphoreSubmitInfo*>(each)->pSignalSemaphoreValues[0];
      }
    }
    if (i + 1 == count && fence != VK_NULL_HANDLE) {
      ledger().find(id_of(fence), "fence");
      submission.fence = id_of(fence);
    }
    ledger().submit(std::move(submission));
  }
  return waited();
}

VkResult VKAPI_CALL vkQueueWaitIdle(VkQueue queue) {
  {
    const std::lock_guard lock(ledger().mutex);
    ledger().find_alone(dispatchable_id(queue), "queue");
  }
  return wait_idle("vkQueueWaitIdle");
}
VkResult VKAPI_CALL vkDeviceWaitIdle(VkDevice) { return wait_idle("vkDeviceWaitIdle"); }

VkResult VKAPI_CALL vkWaitSemaphores(VkDevice, const VkSemaphoreWaitInfo* info, std::uint64_t) {
  const std::lock_guard lock(ledger().mutex);
  const VkResult failed = ledger().enter("vkWaitSemaphores", of_waits);
  if (failed != VK_SUCCESS && failed != VK_ERROR_DEVICE_LOST) return failed;
  for (std::uint32_t i = 0; i < info->semaphoreCount; ++i) {
    if (ledger().complete(id_of(info->pSemaphores[i]), info->pValues[i])) continue;
    ledger().misuse("a wait for value %llu of a semaphore that nothing will signal", static_cast<unsigned long long>(info->pValues[i]));
    return VK_ERROR_DEVICE_LOST;  // rather than hang
  }
  return waited();
}

VkResult VKAPI_CALL vkWaitForFences(VkDevice, std::uint32_t count, const VkFence* fences, VkBool32, std::uint64_t) {
  const std::lock_guard lock(ledger().mutex);
  const VkResult failed = ledger().enter("vkWaitForFences", of_waits);
  if (failed != VK_SUCCESS && failed != VK_ERROR_DEVICE_LOST) return failed;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (ledger().complete_fence(id_of(fences[i]))) continue;
    ledger().misuse("a wait for a fence that nothing will signal");
    return VK_ERROR_DEVICE_LOST;
  }
  return waited();
}

VkResult VKAPI_CALL vkGetSemaphoreCounterValue(VkDevice, VkSemaphore semaphore, std::uint64_t* value) {
  const std::lock_guard lock(ledger().mutex);
  const VkResult failed = ledger().enter("vkGetSemaphoreCounterValue", of_waits);
  if (failed != VK_SUCCESS && failed != VK_ERROR_DEVICE_LOST) return failed;
  ledger().complete_all();
  const Object* object = ledger().find(id_of(semaphore), "semaphore");
  *value = object == nullptr ? 0 : object->value;
  return waited();
}

}  // namespace stub
