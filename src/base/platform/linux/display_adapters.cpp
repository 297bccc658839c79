#include "base/platform/linux/display_adapters.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <system_error>

namespace skipstone::platform {
namespace {

namespace fs = std::filesystem;

/// The hexadecimal number of a file of one line, such as "0x10de"; 0 where there is none.
std::uint32_t number_in(const fs::path& file) {
  std::uint32_t number = 0;
  std::ifstream(file) >> std::hex >> number;
  return number;
}

/// The first device file of a rendering node that exists and that this user may not open.
std::string refused_node(const fs::path& drm, const fs::path& nodes) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(drm, error)) {
    const fs::path node = nodes / entry.path().filename();
    if (!entry.path().filename().string().starts_with("renderD") || access(node.c_str(), F_OK) != 0) continue;
    if (access(node.c_str(), R_OK | W_OK) != 0) return node.string();
  }
  return {};
}

}  // namespace

std::vector<DisplayAdapter> display_adapters_in(const fs::path& devices, const fs::path& nodes) {
  constexpr std::uint32_t display_class = 0x03;  // the base class, which is the highest of three bytes
  std::vector<DisplayAdapter> adapters;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(devices, error)) {
    const std::uint32_t vendor = number_in(entry.path() / "vendor");
    if (vendor == 0 || number_in(entry.path() / "class") >> 16 != display_class) continue;
    adapters.push_back({vendor, refused_node(entry.path() / "drm", nodes)});
  }
  return adapters;
}

}  // namespace skipstone::platform
