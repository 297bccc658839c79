#include "api/device_json.h"

#include <fmt/format.h>

#include "json/json.h"

namespace skipstone::api {

std::string api_version_text(std::uint32_t version) {
  // VK_API_VERSION_MAJOR, _MINOR and _PATCH of the Vulkan specification, 3.2.
  return fmt::format("{}.{}.{}", (version >> 22U) & 0x7FU, (version >> 12U) & 0x3FFU, version & 0xFFFU);
}

Json device_json(const vk::Caps& caps) {
  Json heaps = Json::array();
  for (const vk::Heap& heap : caps.heaps) {
    heaps.push_back({{"bytes", heap.bytes}, {"available", heap.available}, {"device_local", heap.device_local}});
  }
  return {
      {"index", caps.index},
      {"name", caps.name},
      {"kind", vk::to_string(caps.kind)},
      {"tier", vk::to_string(caps.tier())},
      {"driver", caps.driver_name},
      {"driver_info", caps.driver_info},
      {"driver_version", caps.driver_version},
      {"vulkan", api_version_text(caps.api_version)},
      {"vendor_id", caps.vendor_id},
      {"device_id", caps.device_id},
      {"subgroup", {{"size", caps.subgroup_size}, {"min", caps.min_subgroup_size}, {"max", caps.max_subgroup_size}}},
      {"subgroup_size_control", caps.subgroup_size_control},
      {"features",
       {{"fp16", caps.fp16},
        {"int8", caps.int8},
        {"storage16", caps.storage16},
        {"storage8", caps.storage8},
        {"timeline_semaphore", caps.timeline_semaphore},
        {"conditional_dispatch", caps.conditional_dispatch},
        {"timestamps", caps.timestamps},
        {"async_compute_queue", caps.async_compute_queue},
        {"unified_memory", caps.unified_memory}}},
      {"limits",
       {{"workgroup_invocations", caps.max_workgroup_invocations},
        {"workgroup_size", caps.max_workgroup_size},
        {"workgroup_count", caps.max_workgroup_count},
        {"shared_bytes", caps.max_shared_bytes},
        {"push_constant_bytes", caps.max_push_bytes},
        {"storage_buffers", caps.max_storage_buffers},
        {"storage_buffer_range", caps.max_storage_range},
        {"allocation_bytes", caps.max_allocation},
        {"storage_alignment", caps.storage_alignment}}},
      {"heaps", heaps},
      {"memory_bytes", caps.device_bytes()},
      {"extensions", caps.extensions},
  };
}

}  // namespace skipstone::api
