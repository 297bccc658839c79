// A device as the reports print it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api/report.h"
#include "vk/caps.h"

namespace skipstone::api {

/// Name, driver, kind, tier, limits, memory.
nlohmann::ordered_json device_json(const vk::Caps& caps);

/// "1.3.239" from a packed Vulkan version.
std::string api_version_text(std::uint32_t version);

}  // namespace skipstone::api
