// The display adapters that Linux lists in a folder of sysfs, apart for tests, which write such a folder.
#pragma once

#include <filesystem>
#include <vector>

#include "base/platform/system.h"

namespace skipstone::platform {

/// `devices`: of PCI, a folder each with files "class" and "vendor" (hexadecimal numbers) and, where a driver runs it, a folder "drm" with
/// names such as "renderD128", which are device files in `nodes`. Folders that cannot be read are left out.
std::vector<DisplayAdapter> display_adapters_in(const std::filesystem::path& devices, const std::filesystem::path& nodes);

}  // namespace skipstone::platform
