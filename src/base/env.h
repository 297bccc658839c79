// The only place that reads the environment.
#pragma once

#include <optional>
#include <string>

namespace skipstone::env {

/// The value of environment variable `name`; nothing where it is unset or empty.
std::optional<std::string> get(const char* name);

/// True where `name` is set to anything but "", "0", "false", "off" or "no".
bool flag(const char* name);

/// The folder for caches: $SKIPSTONE_CACHE, else $XDG_CACHE_HOME/skipstone or $HOME/.cache/skipstone, on Windows %LOCALAPPDATA%/skipstone.
/// Empty where none of them is known; callers then do without a cache.
std::string cache_directory();

}  // namespace skipstone::env
