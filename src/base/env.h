// The only place that reads the environment.
#pragma once

#include <optional>
#include <string>

#include "base/platform/system.h"

namespace skipstone::env {

/// The value of environment variable `name`; nothing where it is unset or empty.
inline std::optional<std::string> get(const char* name) {
  std::optional<std::string> value = platform::environment(name);
  return value && value->empty() ? std::nullopt : value;
}

/// True where `name` is set to anything but "", "0", "false", "off" or "no".
inline bool flag(const char* name) {
  const auto value = get(name);
  return value && *value != "0" && *value != "false" && *value != "off" && *value != "no";
}

/// The folder for caches: $SKIPSTONE_CACHE, else $XDG_CACHE_HOME/skipstone or $HOME/.cache/skipstone, on Windows %LOCALAPPDATA%/skipstone.
/// Empty where none of them is known; callers then do without a cache.
inline std::string cache_directory() {
  if (auto own = get("SKIPSTONE_CACHE")) return *own;
  const std::string folder = platform::cache_directory();
  return folder.empty() ? "" : folder + "/skipstone";
}

}  // namespace skipstone::env
