// What Linux alone says in its own way; posix/system.cpp has the rest.
#include "base/platform/system.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

namespace skipstone::platform {

std::string program_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

std::uint64_t free_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  while (file >> key >> kib) {
    if (key == "MemAvailable:") return kib * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  const long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
}

std::uint64_t last_level_cache() {
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

std::span<const char* const> vulkan_loaders() {
  static constexpr const char* names[] = {"libvulkan.so.1", "libvulkan.so"};
  return names;
}

const char* vulkan_loader_advice() {
  return "install it (Debian and Ubuntu: libvulkan1) together with the driver of your GPU (mesa-vulkan-drivers, or the vendor's), then try "
         "again";
}

}  // namespace skipstone::platform
