#include "base/env.h"

#include <cstdlib>

namespace skipstone::env {

std::optional<std::string> get(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

bool flag(const char* name) {
  const auto value = get(name);
  return value && *value != "0" && *value != "false" && *value != "off" && *value != "no";
}

std::string cache_directory() {
  if (auto own = get("SKIPSTONE_CACHE")) return *own;
  if (auto xdg = get("XDG_CACHE_HOME")) return *xdg + "/skipstone";
  if (auto home = get("HOME")) return *home + "/.cache/skipstone";
  return {};
}

}  // namespace skipstone::env
