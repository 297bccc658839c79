// System services: folders, memory, variables, libraries, and functions that some C libraries lack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skipstone::platform {

/// main()'s arguments, the program's name first, as UTF-8. Throws invalid_argument where an argument is no Unicode text (Windows).
std::vector<std::string> arguments(int argc, char** argv);

/// The value of an environment variable as UTF-8; nothing where it is not set.
std::optional<std::string> environment(const char* name);
/// The user's folder for files that can be created again; empty where the system does not say.
std::string cache_directory();

/// The folder of the running program; empty where the system does not say.
std::string program_folder();

/// Bytes that programs can still use without harm to others; 0 where the system does not say.
std::uint64_t free_memory();
/// Size of the processor's last-level cache in bytes; 0 where the system does not say.
std::uint64_t last_level_cache();

/// A display adapter that the system knows, whether or not a driver runs it.
struct DisplayAdapter {
  std::uint32_t vendor = 0;  ///< of PCI: 0x10de NVIDIA, 0x1002 AMD, 0x8086 Intel
  std::string refused;       ///< a device file of it that this user may not open (Linux); else ""
};
/// Empty where the system does not say.
std::vector<DisplayAdapter> display_adapters();

/// A description of the machine for shared records: without its name or its users' names. Unknown facts are "" or 0.
struct Machine {
  std::string system;     ///< with its version
  std::string processor;  ///< as its maker calls it
  std::uint32_t cores = 0;
  std::uint64_t memory_bytes = 0;
};
Machine machine();

std::tm local_time(std::time_t time);

/// Where `what` begins in `text`, npos where it does not; never in quadratic time, as std::string_view::find() takes in its worst case.
std::size_t find_bytes(std::string_view text, std::string_view what);

/// Whether SO_REUSEADDR frees a server's port at once when the server has ended. On Windows it lets other programs take the port.
bool frees_ports_by_reuse();

/// Raises the number of files and connections that this program may have open to the system's maximum. Returns how many can be opened
/// besides those already open; nothing where the system sets no limit.
std::optional<std::size_t> raise_descriptor_limit();

/// Makes the C library return freed blocks of megabytes to the system, where it has a choice.
void keep_little_freed_memory();
/// Returns freed memory that the C library has kept to the system. May take milliseconds.
void release_freed_memory();

/// A shared library that stays loaded for as long as the program runs; null if none has this name.
void* open_library(const char* name);
/// Null if the library has no symbol of this name.
void* find_symbol(void* library, const char* name);

/// Possible names of Vulkan's loader, the usual name first.
std::span<const char* const> vulkan_loaders();
/// How a user installs it: the end of a sentence.
const char* vulkan_loader_advice();
/// How a user installs a Vulkan driver for a GPU of this maker, "NVIDIA", "AMD" or "Intel": likewise.
const char* gpu_driver_advice(std::string_view maker);

}  // namespace skipstone::platform
