// skipstone_list_devices() and the table of drafters.
#include "api/devices.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "api/guard.h"
#include "engine/engine.h"
#include "json/json.h"
#include "speculation/registry.h"

namespace skipstone::api {
namespace {

/// The registry's string views as C strings that stay valid.
struct DrafterStrings {
  std::string name, summary, options;
  bool lossless;
  speculation::NamesFile file;
};

const std::vector<DrafterStrings>& drafter_strings() {
  static const std::vector<DrafterStrings> all = [] {
    std::vector<DrafterStrings> strings;
    for (const speculation::DrafterInfo& info : speculation::drafters()) {
      strings.push_back({std::string(info.name), std::string(info.summary), std::string(info.options), info.lossless, info.file});
    }
    return strings;
  }();
  return all;
}

/// "1.3.239" from a packed Vulkan version: VK_API_VERSION_MAJOR, _MINOR and _PATCH of the Vulkan specification, 3.2.
std::string api_version_text(std::uint32_t version) {
  return fmt::format("{}.{}.{}", (version >> 22U) & 0x7FU, (version >> 12U) & 0x3FFU, version & 0xFFFU);
}

}  // namespace

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

OpenDevice open_device(const char* wanted, bool validation) {
  const std::shared_ptr<vk::Instance> instance = vk::Instance::create(validation);
  const vk::ChosenDevice choice = vk::choose_device(
      instance->devices(), [&](std::uint32_t index) { return instance->unsuitable(index); }, wanted_device(wanted));
  return {vk::Device::create(instance, choice.index), choice.reason};
}

}  // namespace skipstone::api

using namespace skipstone;

extern "C" {

skipstone_status skipstone_list_devices(const char* wanted, char** json) {
  return api::guard([&] {
    api::require(json, "json");
    *json = nullptr;
    Json devices = Json::array();
    for (const engine::DeviceEntry& entry : engine::list_devices(api::wanted_device(wanted))) {
      Json device = api::device_json(entry.caps);
      device["chosen"] = entry.chosen;
      device["reason"] = entry.reason;
      device["unsuitable"] = entry.unsuitable;
      device["quirks"] = entry.quirks;
      devices.push_back(std::move(device));
    }
    *json = api::copy_string(api::print({{"devices", std::move(devices)}}));
  });
}

size_t skipstone_drafter_count(void) { return speculation::drafters().size(); }

int skipstone_draft_is_lossless(const char* draft) {
  int lossless = 0;
  api::guard([&] { lossless = draft != nullptr && speculation::is_lossless(draft) ? 1 : 0; });
  return lossless;
}

skipstone_status skipstone_drafter_get_info(size_t index, skipstone_drafter_info* info) {
  return api::guard([&] {
    const auto& all = api::drafter_strings();
    if (index >= all.size()) fail(Code::invalid_argument, "there is no drafter number {}; there are {}", index, all.size());
    const skipstone_drafter_info filled{0,
                                        all[index].name.c_str(),
                                        all[index].summary.c_str(),
                                        all[index].options.c_str(),
                                        all[index].lossless ? 1 : 0,
                                        static_cast<int32_t>(all[index].file)};
    api::give(filled, info);
  });
}

}  // extern "C"
