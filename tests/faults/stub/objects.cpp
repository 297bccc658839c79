// Making and destroying.
#include "objects.h"

#include <cstdlib>
#include <cstring>

namespace stub {
namespace {

template <typename Handle>
VkResult create(const char* call, std::initializer_list<VkResult> possible, const char* type, Id parent, Handle* handle) {
  const std::lock_guard lock(ledger().mutex);
  if (const VkResult failed = ledger().enter(call, possible)) return failed;
  *handle = handle_of<Handle>(ledger().add(type, parent));
  return VK_SUCCESS;
}

template <typename Handle>
void destroy(const char* type, Handle handle) {
  const std::lock_guard lock(ledger().mutex);
  ledger().remove(id_of(handle), type);
}

}  // namespace

// What has nothing but its handle. The results are those that the specification names for the call.
#define STUB_OBJECT(Name, type, ...)                                                                                               \
  VkResult VKAPI_CALL vkCreate##Name(VkDevice device, const Vk##Name##CreateInfo*, const VkAllocationCallbacks*, Vk##Name* handle) { \
    return create("vkCreate" #Name, {__VA_ARGS__}, type, dispatchable_id(device), handle);                                          \
  }                                                                                                                                \
  void VKAPI_CALL vkDestroy##Name(VkDevice, Vk##Name handle, const VkAllocationCallbacks*) { destroy(type, handle); }

STUB_OBJECT(ShaderModule, "shader module", no_host_memory, no_device_memory)
STUB_OBJECT(PipelineLayout, "pipeline layout", no_host_memory, no_device_memory)
STUB_OBJECT(PipelineCache, "pipeline cache", no_host_memory, VK_ERROR_INITIALIZATION_FAILED)
STUB_OBJECT(DescriptorSetLayout, "descriptor set layout", no_host_memory, no_device_memory)
STUB_OBJECT(QueryPool, "query pool", no_host_memory, no_device_memory)
STUB_OBJECT(Semaphore, "semaphore", no_host_memory, no_device_memory)
STUB_OBJECT(Fence, "fence", no_host_memory, no_device_memory)

#undef STUB_OBJECT

// ---- instance and device

VkResult VKAPI_CALL vkCreateInstance(const VkInstanceCreateInfo*, const VkAllocationCallbacks*, VkInstance* instance) {
  const std::lock_guard lock(ledger().mutex);
  if (const VkResult failed = ledger().enter("vkCreateInstance", {no_host_memory, no_device_memory, VK_ERROR_INITIALIZATION_FAILED})) {
    return failed;
  }
  const Id id = ledger().add("instance", 0);
  ledger().find(id, "instance")->value = id_of(new_dispatchable(ledger().add("physical device", id)));
  *instance = static_cast<VkInstance>(new_dispatchable(id));
  return VK_SUCCESS;
}

void VKAPI_CALL vkDestroyInstance(VkInstance instance, const VkAllocationCallbacks*) {
  const std::lock_guard lock(ledger().mutex);
  const Id id = dispatchable_id(instance);
  ledger().release_children(id, "physical device");
  if (ledger().has_children(id)) ledger().misuse("an instance was destroyed while its devices are there");
  ledger().remove(id, "instance");
}

VkResult VKAPI_CALL vkEnumeratePhysicalDevices(VkInstance instance, std::uint32_t* count, VkPhysicalDevice* devices) {
  const std::lock_guard lock(ledger().mutex);
  if (const VkResult failed =
          ledger().enter("vkEnumeratePhysicalDevices", {no_host_memory, no_device_memory, VK_ERROR_INITIALIZATION_FAILED})) {
    return failed;
  }
  const Object* object = ledger().find(dispatchable_id(instance), "instance");
  if (devices != nullptr && *count > 0 && object != nullptr) devices[0] = handle_of<VkPhysicalDevice>(object->value);
  *count = 1;
  return VK_SUCCESS;
}

VkResult VKAPI_CALL vkCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo*, const VkAllocationCallbacks*, VkDevice* device) {
  const std::lock_guard lock(ledger().mutex);
  if (const VkResult failed = ledger().enter("vkCreateDevice", {no_host_memory, no_device_memory, VK_ERROR_INITIALIZATION_FAILED,
                                                               VK_ERROR_TOO_MANY_OBJECTS, VK_ERROR_DEVICE_LOST})) {
    return failed;
  }
  const Object* object = ledger().find(dispatchable_id(physical), "physical device");
  const Id id = ledger().add("device", object == nullptr ? 0 : object->parent);
  ledger().recover();
  ledger().find(id, "device")->value = id_of(new_dispatchable(ledger().add("queue", id)));
  *device = static_cast<VkDevice>(new_dispatchable(id));
  return VK_SUCCESS;
}

void VKAPI_CALL vkDestroyDevice(VkDevice device, const VkAllocationCallbacks*) {
  const std::lock_guard lock(ledger().mutex);
  const Id id = dispatchable_id(device);
  ledger().release_children(id, "queue");
  if (ledger().has_children(id)) ledger().misuse("a device was destroyed while objects of it are there");
  ledger().remove(id, "device");
}

void VKAPI_CALL vkGetDeviceQueue(VkDevice device, std::uint32_t, std::uint32_t, VkQueue* queue) {
  const std::lock_guard lock(ledger().mutex);
  const Object* object = ledger().find(dispatchable_id(device), "device");
  *queue = object == nullptr ? VK_NULL_HANDLE : handle_of<VkQueue>(object->value);
}

// ---- memory and buffers

VkResult VKAPI_CALL vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*, VkDeviceMemory* memory) {
  const std::lock_guard lock(ledger().mutex);
  if (const VkResult failed = ledger().enter("vkAllocateMemory", {no_host_memory, no_device_memory})) return failed;
  // Only what the host can see needs to be there.
  void* bytes = info->memoryTypeIndex == 1 ? std::calloc(1, info->allocationSize) : nullptr;
  if (info->memoryTypeIndex == 1 && bytes == nullptr) return no_host_memory;
  const Id id = ledger().add("memory", dispatchable_id(device));
  ledger().find(id, "memory")->bytes = bytes;
  *memory = handle_of<VkDeviceMemory>(id);
  return VK_SUCCESS;
}

void VKAPI_CALL vkFreeMemory(VkDevice, VkDeviceMemory memory, const VkAllocationCallbacks*) { destroy("memory", memory); }

VkResult VKAPI_CALL vkMapMemory(VkDevice, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize, VkMemoryMapFlags, void** mapped) {
  const std::lock_guard lock(ledger().mutex);
  if (const VkResult failed = ledger().enter("vkMapMemory", {no_host_memory, no_device_memory, VK_ERROR_MEMORY_MAP_FAILED})) return failed;
  Object* object = ledger().find(id_of(memory), "memory");
  if (object == nullptr || object->bytes == nullptr) {
    ledger().misuse("memory was mapped that the host cannot see");
    return VK_ERROR_MEMORY_MAP_FAILED;
  }
  if (object->value++ != 0) ledger().misuse("memory was mapped twice");
  *mapped = static_cast<char*>(object->bytes) + offset;
  return VK_SUCCESS;
}

void VKAPI_CALL vkUnmapMemory(VkDevice, VkDeviceMemory memory) {
  const std::lock_guard lock(ledger().mutex);
  Object* object = ledger().find(id_of(memory), "memory");
  if (object != nullptr && object->value-- != 1) ledger().misuse("memory was unmapped that is not mapped");
}

VkResult VKAPI_CALL vkCreateBuffer(VkDevice device, const VkBufferCreateInfo* info, const VkAllocationCallbacks*, VkBuffer* buffer) {
  const VkResult result = create("vkCreateBuffer", {no_host_memory, no_device_memory}, "buffer", dispatchable_id(device), buffer);
  const std::lock_guard lock(ledger().mutex);
  if (result == VK_SUCCESS) ledger().find(id_of(*buffer), "buffer")->size = info->size;
  return result;
}

void VKAPI_CALL vkDestroyBuffer(VkDevice, VkBuffer buffer, const VkAllocationCallbacks*) { destroy("buffer", buffer); }

void VKAPI_CALL vkGetBufferMemoryRequirements(VkDevice, VkBuffer buffer, VkMemoryRequirements* needs) {
  const std::lock_guard lock(ledger().mutex);
  const Object* object = ledger().find(id_of(buffer), "buffer");
  *needs = {((object == nullptr ? 0 : object->size) + 255) / 256 * 256, 256, 3};
}

VkResult VKAPI_CALL vkBindBufferMemory(VkDevice, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize) {
  const std::lock_guard lock(ledger().mutex);
  if (const VkResult failed = ledger().enter("vkBindBufferMemory", {no_host_memory, no_device_memory})) return failed;
  ledger().find(id_of(memory), "memory");
  if (Object* object = ledger().find(id_of(buffer), "buffer")) object->uses.push_back(id_of(memory));
  return VK_SUCCESS;
}

VkResult VKAPI_CALL vkCreateBufferView(VkDevice device, const VkBufferViewCreateInfo* info, const VkAllocationCallbacks*, VkBufferView* view) {
  const VkResult result = create("vkCreateBufferView", {no_host_memory, no_device_memory}, "buffer view", dispatchable_id(device), view);
  const std::lock_guard lock(ledger().mutex);
  ledger().find(id_of(info->buffer), "buffer");
  return result;
}

void VKAPI_CALL vkDestroyBufferView(VkDevice, VkBufferView view, const VkAllocationCallbacks*) { destroy("buffer view", view); }

// ---- pipelines

VkResult VKAPI_CALL vkCreateComputePipelines(VkDevice device, VkPipelineCache cache, std::uint32_t count,
                                             const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks*, VkPipeline* pipelines) {
  const std::lock_guard lock(ledger().mutex);
  for (std::uint32_t i = 0; i < count; ++i) pipelines[i] = VK_NULL_HANDLE;
  if (const VkResult failed = ledger().enter("vkCreateComputePipelines", {no_host_memory, no_device_memory, VK_ERROR_INVALID_SHADER_NV})) {
    return failed;
  }
  if (cache != VK_NULL_HANDLE) ledger().find(id_of(cache), "pipeline cache");
  for (std::uint32_t i = 0; i < count; ++i) {
    ledger().find(id_of(infos[i].stage.module), "shader module");
    ledger().find(id_of(infos[i].layout), "pipeline layout");
    pipelines[i] = handle_of<VkPipeline>(ledger().add("pipeline", dispatchable_id(device)));
  }
  return VK_SUCCESS;
}

void VKAPI_CALL vkDestroyPipeline(VkDevice, VkPipeline pipeline, const VkAllocationCallbacks*) { destroy("pipeline", pipeline); }

VkResult VKAPI_CALL vkGetPipelineCacheData(VkDevice, VkPipelineCache cache, std::size_t* size, void* data) {
  const std::lock_guard lock(ledger().mutex);
  if (const VkResult failed = ledger().enter("vkGetPipelineCacheData", {no_host_memory, no_device_memory})) return failed;
  ledger().find(id_of(cache), "pipeline cache");
  VkPipelineCacheHeaderVersionOne header{sizeof header, VK_PIPELINE_CACHE_HEADER_VERSION_ONE, 0x10005, 0, {}};
  std::memset(header.pipelineCacheUUID, 7, sizeof header.pipelineCacheUUID);
  if (data != nullptr && *size >= sizeof header) std::memcpy(data, &header, sizeof header);
  *size = sizeof header;
  return VK_SUCCESS;
}

// ---- descriptors

VkResult VKAPI_CALL vkCreateDescriptorPool(VkDevice device, const VkDescriptorPoolCreateInfo*, const VkAllocationCallbacks*,
                                           VkDescriptorPool* pool) {
  return create("vkCreateDescriptorPool", {no_host_memory, no_device_memory, VK_ERROR_FRAGMENTATION}, "descriptor pool",
                dispatchable_id(device), pool);
}

void VKAPI_CALL vkDestroyDescriptorPool(VkDevice, VkDescriptorPool pool, const VkAllocationCallbacks*) {
  destroy("descriptor pool", pool);
  const std::lock_guard lock(ledger().mutex);
  ledger().release_children(id_of(pool), "descriptor set");
}

VkResult VKAPI_CALL vkAllocateDescriptorSets(VkDevice, const VkDescriptorSetAllocateInfo* info, VkDescriptorSet* sets) {
  const std::lock_guard lock(ledger().mutex);
  if (const VkResult failed = ledger().enter("vkAllocateDescriptorSets",
                                             {no_host_memory, no_device_memory, VK_ERROR_FRAGMENTED_POOL, VK_ERROR_OUT_OF_POOL_MEMORY})) {
    return failed;
  }
  ledger().find_alone(id_of(info->descriptorPool), "descriptor pool");
  for (std::uint32_t i = 0; i < info->descriptorSetCount; ++i) {
    ledger().find(id_of(info->pSetLayouts[i]), "descriptor set layout");
    const Id id = ledger().add("descriptor set", id_of(info->descriptorPool));
    ledger().find(id, "descriptor set")->uses.push_back(id_of(info->descriptorPool));
    sets[i] = handle_of<VkDescriptorSet>(id);
  }
  return VK_SUCCESS;
}

void VKAPI_CALL vkUpdateDescriptorSets(VkDevice, std::uint32_t count, const VkWriteDescriptorSet* writes, std::uint32_t,
                                       const VkCopyDescriptorSet*) {
  const std::lock_guard lock(ledger().mutex);
  for (std::uint32_t i = 0; i < count; ++i) {
    Object* set = ledger().find_alone(id_of(writes[i].dstSet), "descriptor set");
    if (set == nullptr) return;
    if (writes[i].descriptorType == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER) {
      ledger().find(id_of(*writes[i].pTexelBufferView), "buffer view");
      set->uses.push_back(id_of(*writes[i].pTexelBufferView));
    } else {
      ledger().find(id_of(writes[i].pBufferInfo->buffer), "buffer");
      set->uses.push_back(id_of(writes[i].pBufferInfo->buffer));
    }
  }
}

// ---- commands

VkResult VKAPI_CALL vkCreateCommandPool(VkDevice device, const VkCommandPoolCreateInfo*, const VkAllocationCallbacks*, VkCommandPool* pool) {
  return create("vkCreateCommandPool", {no_host_memory, no_device_memory}, "command pool", dispatchable_id(device), pool);
}

void VKAPI_CALL vkDestroyCommandPool(VkDevice, VkCommandPool pool, const VkAllocationCallbacks*) {
  destroy("command pool", pool);
  const std::lock_guard lock(ledger().mutex);
  ledger().release_children(id_of(pool), "command buffer");
}

VkResult VKAPI_CALL vkAllocateCommandBuffers(VkDevice, const VkCommandBufferAllocateInfo* info, VkCommandBuffer* buffers) {
  const std::lock_guard lock(ledger().mutex);
  if (const VkResult failed = ledger().enter("vkAllocateCommandBuffers", {no_host_memory, no_device_memory})) return failed;
  ledger().find_alone(id_of(info->commandPool), "command pool");
  for (std::uint32_t i = 0; i < info->commandBufferCount; ++i) {
    buffers[i] = static_cast<VkCommandBuffer>(new_dispatchable(ledger().add("command buffer", id_of(info->commandPool))));
  }
  return VK_SUCCESS;
}

VkResult VKAPI_CALL vkGetQueryPoolResults(VkDevice, VkQueryPool pool, std::uint32_t first, std::uint32_t count, std::size_t, void* data,
                                          VkDeviceSize stride, VkQueryResultFlags) {
  const std::lock_guard lock(ledger().mutex);
  if (const VkResult failed = ledger().enter("vkGetQueryPoolResults", {no_host_memory, no_device_memory, VK_ERROR_DEVICE_LOST})) return failed;
  ledger().find(id_of(pool), "query pool");
  for (std::uint32_t i = 0; i < count; ++i) {  // a microsecond between any two
    const std::uint64_t ticks = std::uint64_t{1000} * (first + i);
    std::memcpy(static_cast<char*>(data) + i * stride, &ticks, sizeof ticks);
  }
  return ledger().lost() ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}

}  // namespace stub
