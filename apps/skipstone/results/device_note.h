// What users learn of the device when a command starts: its name, and why a GPU of this computer does not work.
#pragma once

#include <span>
#include <string>

#include "base/platform/system.h"
#include "json/json_fwd.h"
#include "skipstone/skipstone.hpp"

namespace cli {

/// "NAME, KIND, driver DRIVER", or of several devices with some of the layers each: "NAME (layers 0-15), NAME (layers 16-31)"; and how many
/// layers have their experts in host memory.
std::string device_text(const skipstone::Engine& engine);

/// What to do where `devices`, those that Vulkan knows (skipstone_list_devices()), are all CPUs and the computer has a GPU besides: a
/// sentence, or "" where there is nothing to do.
std::string gpu_without_driver(std::span<const skipstone::platform::DisplayAdapter> adapters, const skipstone::Json& devices);

/// Says the same on standard error.
void note_gpu_without_driver(const skipstone::Json& devices);

/// Names the device in a line on standard error and says what to do for a GPU without a driver.
void note_device(const skipstone::Engine& engine);
/// The same before there is an engine, of the device that `wanted` chooses (skipstone_list_devices()).
void note_device(const char* wanted);

}  // namespace cli
