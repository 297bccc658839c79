#include "base/platform/system.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>

namespace skipstone::platform {

std::vector<std::string> arguments(int argc, char** argv) { return {argv, argv + argc}; }

std::optional<std::string> environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// XDG Base Directory Specification 0.8.
std::string cache_directory() {
  if (const auto xdg = environment("XDG_CACHE_HOME"); xdg && !xdg->empty()) return *xdg;
  if (const auto home = environment("HOME"); home && !home->empty()) return *home + "/.cache";
  return {};
}

std::tm local_time(std::time_t time) {
  std::tm local{};
  localtime_r(&time, &local);
  return local;
}

// POSIX.1-2024's memmem(): two-way search where it matters.
std::size_t find_bytes(std::string_view text, std::string_view what) {
  const void* const found = memmem(text.data(), text.size(), what.data(), what.size());
  return found == nullptr ? std::string_view::npos : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

void* open_library(const char* name) { return ::dlopen(name, RTLD_NOW | RTLD_LOCAL); }
void* find_symbol(void* library, const char* name) { return ::dlsym(library, name); }

bool frees_ports_by_reuse() { return true; }

std::optional<std::size_t> raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  rlimit wanted = limit;
  wanted.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &wanted) == 0) limit = wanted;
  if (limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  // A starting program has its descriptors among the lowest numbers.
  constexpr rlim_t searched = 4096;
  std::size_t open = 0;
  for (int descriptor = 0; descriptor < static_cast<int>(std::min(limit.rlim_cur, searched)); ++descriptor) open += fcntl(descriptor, F_GETFD) != -1;
  return limit.rlim_cur - std::min<std::size_t>(limit.rlim_cur, open);
}

}  // namespace skipstone::platform
