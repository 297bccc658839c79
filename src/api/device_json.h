// A device as the reports print it.
#pragma once

#include <string>

#include "api/report.h"
#include "json/json_fwd.h"
#include "vk/caps.h"

namespace skipstone::api {

/// Name, driver, kind, tier, limits, memory.
Json device_json(const vk::Caps& caps);

/// "1.3.239" from a packed Vulkan version.
std::string api_version_text(std::uint32_t version);

}  // namespace skipstone::api
