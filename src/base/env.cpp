#include "base/env.h"

#include "base/platform/system.h"

namespace skipstone::env {

std::optional<std::string> get(const char* name) {
  std::optional<std::string> value = platform::environment(name);
  return value && value->empty() ? std::nullopt : value;
}

bool flag(const char* name) {
  const auto value = get(name);
  return value && *value != "0" && *value != "false" && *value != "off" && *value != "no";
}

std::string cache_directory() {
  if (auto own = get("SKIPSTONE_CACHE")) return *own;
  const std::string folder = platform::cache_directory();
  return folder.empty() ? "" : folder + "/skipstone";
}

}  // namespace skipstone::env
