// Devices: as the reports print them, and one without a model, for calls that need only a device.
#pragma once

#include <memory>
#include <string>

#include "json/json_fwd.h"
#include "vk/caps.h"
#include "vk/device.h"

namespace skipstone::api {

/// A device as the reports print it: name, driver, kind, tier, limits, memory.
Json device_json(const vk::Caps& caps);

struct OpenDevice {
  std::shared_ptr<vk::Device> device;
  std::string reason;  ///< of the choice
};

/// `wanted` as for skipstone_list_devices(). Throws what vk::choose_device() throws.
OpenDevice open_device(const char* wanted, bool validation);

}  // namespace skipstone::api
