// What a program asks its system for: folders, memory, variables, libraries, and what one C library has and another lacks.
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

/// What main() was called with, the program's name first, as UTF-8. Throws invalid_argument where an argument is no Unicode text (Windows).
std::vector<std::string> arguments(int argc, char** argv);

/// The value of an environment variable as UTF-8; nothing where it is not set.
std::optional<std::string> environment(const char* name);
/// Where programs of this user keep what can be made again; empty where the system does not say.
std::string cache_directory();

/// The folder of the running program; empty where the system does not say.
std::string program_folder();

/// Bytes that programs can still have without harm to others; 0 where the system does not say.
std::uint64_t free_memory();
/// Of the processor, in bytes; 0 where the system does not say.
std::uint64_t last_level_cache();

/// What a machine is, for records that are shared: without its name, and without its users'. What the system does not say is "" or 0.
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

/// Whether SO_REUSEADDR does what a server wants: its port is free again at once when it has ended. On Windows it lets others take the port.
bool frees_ports_by_reuse();

/// Lets this program have as many files and connections open as its system allows. The number that can be opened besides those that are
/// open already; nothing where the system sets no limit.
std::optional<std::size_t> raise_descriptor_limit();

/// Makes the C library give blocks of megabytes back to the system when they are freed, where it has a choice.
void keep_little_freed_memory();
/// Gives back what the C library has kept of freed memory. May take milliseconds.
void release_freed_memory();

/// A shared library that stays loaded for as long as the program runs; null where there is none of this name.
void* open_library(const char* name);
/// Null where the library has none of this name.
void* find_symbol(void* library, const char* name);

/// What Vulkan's loader may be called, the usual name first.
std::span<const char* const> vulkan_loaders();
/// How a user gets it: the end of a sentence.
const char* vulkan_loader_advice();

}  // namespace skipstone::platform
