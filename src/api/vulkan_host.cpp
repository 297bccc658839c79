#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "api/engine_options.h"
#include "api/guard.h"
#include "json/json.h"

namespace skipstone::api {

template <>
skipstone_vulkan_host defaults<skipstone_vulkan_host>() {
  return {};
}

namespace {

std::vector<std::string> names_of(const char* const* names, std::size_t count, const char* what) {
  std::vector<std::string> list;
  require_array(names, count, most_files, what);
  for (std::size_t i = 0; i < count; ++i) {
    require(names[i], what);
    list.emplace_back(names[i]);
  }
  return list;
}

/// Storage of the arrays of a skipstone_vulkan_needs.
struct Needs {
  /// Names of requirements, those that are needed first.
  struct Names {
    std::vector<std::string> texts;
    std::vector<const char*> pointers;
    std::size_t needed = 0;

    explicit Names(const std::vector<vk::Requirement>& requirements) {
      for (const bool turn : {true, false}) {
        for (const vk::Requirement& requirement : requirements) {
          if (requirement.needed == turn) texts.push_back(requirement.name);
        }
        if (turn) needed = texts.size();
      }
      for (const std::string& text : texts) pointers.push_back(text.c_str());
    }
  };

  explicit Needs(vk::Requirements all)
      : requirements(std::move(all)),
        instance_extensions(requirements.instance_extensions),
        device_extensions(requirements.device_extensions),
        features(requirements.features) {}

  vk::Requirements requirements;
  Names instance_extensions, device_extensions, features;
  std::string json;
};

Json list_of(const std::vector<vk::Requirement>& requirements) {
  Json list = Json::array();
  for (const vk::Requirement& requirement : requirements) {
    Json entry = {{"name", requirement.name}};
    if (!requirement.structure.empty()) entry["structure"] = requirement.structure;
    entry["needed"] = requirement.needed;
    list.push_back(std::move(entry));
  }
  return list;
}

std::string json_of(const vk::Requirements& all) {
  const Json document = {{"api_version", fmt::format("{}.{}", all.api_version >> 22, all.api_version >> 12 & 0x3ff)},
                         {"queue_family", all.queue_family},
                         {"instance_extensions", list_of(all.instance_extensions)},
                         {"device_extensions", list_of(all.device_extensions)},
                         {"features", list_of(all.features)},
                         {"unsuitable", all.unsuitable}};
  return document.dump(1);
}

}  // namespace

vk::HostDevice host_device(const skipstone_vulkan_host* given) {
  const skipstone_vulkan_host host = read_params(given);
  vk::HostDevice device;
  device.get_instance_proc_addr = host.get_instance_proc_addr;
  device.instance = host.instance;
  device.physical_device = host.physical_device;
  device.device = host.device;
  device.queue = host.queue;
  device.queue_family = host.queue_family;
  device.api_version = host.api_version;
  device.extensions = names_of(host.extensions, host.extension_count, "extensions of the host's Vulkan device");
  device.features = names_of(host.features, host.feature_count, "features of the host's Vulkan device");
  std::ranges::move(vk::enabled_features(host.feature_chain), std::back_inserter(device.features));
  if (host.lock != nullptr) device.lock = [lock = host.lock, user_data = host.user_data] { lock(user_data); };
  if (host.unlock != nullptr) device.unlock = [unlock = host.unlock, user_data = host.user_data] { unlock(user_data); };
  return device;
}

}  // namespace skipstone::api

using namespace skipstone;

extern "C" {

void skipstone_vulkan_host_init(skipstone_vulkan_host* host, size_t struct_size) { api::init(host, struct_size); }

skipstone_status skipstone_vulkan_requirements(const skipstone_vulkan_host* given, skipstone_vulkan_needs* needs) {
  return api::guard([&] {
    api::require(needs, "needs");
    const vk::HostDevice host = api::host_device(given);
    auto all =
        std::make_unique<api::Needs>(vk::requirements(host.get_instance_proc_addr, host.instance, host.physical_device, host.api_version));
    all->json = api::json_of(all->requirements);
    skipstone_vulkan_needs filled{};
    filled.struct_size = sizeof(filled);
    filled.api_version = all->requirements.api_version;
    filled.queue_family = all->requirements.queue_family;
    filled.instance_extensions = all->instance_extensions.pointers.data();
    filled.instance_extension_count = all->instance_extensions.pointers.size();
    filled.needed_instance_extensions = all->instance_extensions.needed;
    filled.device_extensions = all->device_extensions.pointers.data();
    filled.device_extension_count = all->device_extensions.pointers.size();
    filled.needed_device_extensions = all->device_extensions.needed;
    filled.features = all->features.pointers.data();
    filled.feature_count = all->features.pointers.size();
    filled.needed_features = all->features.needed;
    filled.feature_chain = all->requirements.feature_chain.get();
    filled.json = all->json.c_str();
    filled.memory = all.get();
    api::give(filled, needs);
    static_cast<void>(all.release());  // the caller's now
  });
}

void skipstone_vulkan_needs_free(skipstone_vulkan_needs* needs) {
  if (needs == nullptr) return;
  delete static_cast<api::Needs*>(needs->memory);
  needs->memory = nullptr;
}
}
