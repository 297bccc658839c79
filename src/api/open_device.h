// A device without a model, for calls that need only a device.
#pragma once

#include <memory>
#include <string>

#include "vk/device.h"

namespace skipstone::api {

struct OpenDevice {
  std::shared_ptr<vk::Device> device;
  std::string reason;  ///< of the choice
};

/// `wanted` as for skipstone_list_devices(). Throws what vk::choose_device() throws.
OpenDevice open_device(const char* wanted, bool validation);

}  // namespace skipstone::api
