// Paths of the project are UTF-8; std::filesystem takes other text on Windows.
#pragma once

#include <filesystem>
#include <string>

namespace skipstone::platform {

std::filesystem::path path_of(const std::string& utf8);
/// As UTF-8.
std::string text_of(const std::filesystem::path& path);

}  // namespace skipstone::platform
