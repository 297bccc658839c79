// The Linux-specific part; posix/system.cpp has the rest.
#include "base/platform/system.h"

#include <malloc.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>
#include <thread>

#include "base/platform/linux/display_adapters.h"

namespace skipstone::platform {
namespace {

/// The value of the first line of a file that begins with one of `keys`: "model name : X" with ':', "NAME=X" with '='.
std::string value_of(const char* path, std::span<const std::string_view> keys, char separator) {
  constexpr std::string_view blanks = " \t\"";
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(blanks, at == 0 ? 0 : at - 1) + 1);
    const std::size_t first = line.find_first_not_of(blanks, at + 1);
    if (first == std::string::npos || std::find(keys.begin(), keys.end(), key) == keys.end()) continue;
    return line.substr(first, line.find_last_not_of(blanks) + 1 - first);
  }
  return {};
}

}  // namespace

Machine machine() {
  static constexpr std::string_view system_keys[] = {"PRETTY_NAME"}, processor_keys[] = {"model name", "cpu model", "Model"};
  Machine machine;
  utsname kernel{};
  if (uname(&kernel) == 0) {
    // After the numbers follows free text from the kernel's build, perhaps a person's name.
    const std::string_view release = kernel.release;
    machine.system = "Linux " + std::string(release.substr(0, release.find_first_not_of("0123456789.")));
    machine.processor = kernel.machine;
  }
  if (const std::string name = value_of("/etc/os-release", system_keys, '='); !name.empty()) machine.system += ", " + name;
  if (const std::string name = value_of("/proc/cpuinfo", processor_keys, ':'); !name.empty()) machine.processor = name;
  machine.cores = std::thread::hardware_concurrency();
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  if (pages > 0 && size > 0) machine.memory_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
  return machine;
}

std::vector<DisplayAdapter> display_adapters() { return display_adapters_in("/sys/bus/pci/devices", "/dev/dri"); }

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

const char* gpu_driver_advice(std::string_view maker) {
  return maker == "NVIDIA" ? "install NVIDIA's driver (Debian: nvidia-driver; Ubuntu: sudo ubuntu-drivers install)"
                           : "install Mesa's driver (Debian and Ubuntu: mesa-vulkan-drivers), of a newer system where the GPU is newer";
}

// The GNU C library raises the size from which a block has pages of its own, and gives them back, to the largest block that was ever freed
// (mallopt(3), M_MMAP_THRESHOLD), and its arenas keep their peak size. Other C libraries do neither.
void keep_little_freed_memory() {
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
#endif
}

void release_freed_memory() {
#ifdef M_MMAP_THRESHOLD
  malloc_trim(0);
#endif
}

}  // namespace skipstone::platform
