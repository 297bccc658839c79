// The macOS-specific part; posix/system.cpp has the rest. Untested: no Mac was at hand.
#include "base/platform/system.h"

#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <sys/sysctl.h>

#include <filesystem>
#include <system_error>
#include <thread>

namespace skipstone::platform {
namespace {

std::string text_of(const char* name) {
  char buffer[256];
  std::size_t size = sizeof buffer;
  return sysctlbyname(name, buffer, &size, nullptr, 0) == 0 && size > 0 ? std::string(buffer, size - 1) : std::string();
}

}  // namespace

Machine machine() {
  Machine machine{"macOS " + text_of("kern.osproductversion"), text_of("machdep.cpu.brand_string"), std::thread::hardware_concurrency(), 0};
  std::size_t size = sizeof machine.memory_bytes;
  if (sysctlbyname("hw.memsize", &machine.memory_bytes, &size, nullptr, 0) != 0) machine.memory_bytes = 0;
  return machine;
}

std::vector<DisplayAdapter> display_adapters() { return {}; }  // MoltenVK, the only driver, runs every GPU there

std::string program_folder() {
  char buffer[4096];
  std::uint32_t size = sizeof(buffer);
  std::error_code error;
  return _NSGetExecutablePath(buffer, &size) != 0 ? "" : std::filesystem::canonical(buffer, error).parent_path().string();
}

std::uint64_t free_memory() {
  vm_statistics64_data_t pages{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  if (host_statistics64(mach_host_self(), HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages), &count) != KERN_SUCCESS) return 0;
  return (std::uint64_t{pages.free_count} + pages.inactive_count) * vm_page_size;
}

std::uint64_t last_level_cache() {
  std::uint64_t bytes = 0;
  std::size_t size = sizeof bytes;
  return sysctlbyname("hw.l3cachesize", &bytes, &size, nullptr, 0) == 0 ? bytes : 0;
}

std::span<const char* const> vulkan_loaders() {
  static constexpr const char* names[] = {"libvulkan.dylib", "libvulkan.1.dylib", "libMoltenVK.dylib"};
  return names;
}

const char* gpu_driver_advice(std::string_view) { return "install MoltenVK (Homebrew: molten-vk)"; }

const char* vulkan_loader_advice() { return "install it together with MoltenVK (Homebrew: vulkan-loader molten-vk), then try again"; }

void keep_little_freed_memory() {}
void release_freed_memory() {}

}  // namespace skipstone::platform
