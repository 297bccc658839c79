// UTF-8, which the project has, and UTF-16, which Windows has.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace skipstone::platform {

/// What is no UTF-8 becomes U+FFFD.
std::wstring utf16(std::string_view text);
/// Halves of surrogate pairs become U+FFFD.
std::string utf8(std::wstring_view text);
/// Nothing where half of a surrogate pair stands alone.
std::optional<std::string> strict_utf8(std::wstring_view text);

}  // namespace skipstone::platform
