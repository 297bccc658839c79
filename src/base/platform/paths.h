// Paths of the project are UTF-8; std::filesystem takes other text on Windows.
#pragma once

#include <filesystem>
#include <string>

namespace skipstone::platform {

/// On Windows throws std::filesystem::filesystem_error or std::system_error for invalid UTF-8; other systems take any bytes.
inline std::filesystem::path path_of(const std::string& utf8) { return {std::u8string(utf8.begin(), utf8.end())}; }

/// As UTF-8.
inline std::string text_of(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return {text.begin(), text.end()};
}

}  // namespace skipstone::platform
