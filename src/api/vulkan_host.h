// A host's Vulkan device as the C API gives it, as the Vulkan layer takes it.
#pragma once

#include "skipstone/vulkan.h"
#include "vk/host_device.h"

namespace skipstone::api {

/// Throws invalid_argument where the struct's size is not set or an array is missing.
vk::HostDevice host_device(const skipstone_vulkan_host* given);

}  // namespace skipstone::api
