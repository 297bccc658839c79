// Conversion between UTF-8, which the project uses, and UTF-16, which Windows uses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace skipstone::platform {

/// Invalid UTF-8 becomes U+FFFD.
std::wstring utf16(std::string_view text);
/// Halves of surrogate pairs become U+FFFD.
std::string utf8(std::wstring_view text);
/// Nothing for text with an unpaired surrogate.
std::optional<std::string> strict_utf8(std::wstring_view text);

}  // namespace skipstone::platform
