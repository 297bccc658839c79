// Text as people see it: its width, and what came from outside (a file, a name, an argument) made safe to show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace skipstone {

/// Characters of UTF-8, which are bytes that begin one.
std::size_t characters(std::string_view text);

/// Control characters, bidirectional overrides and bytes that are not UTF-8 become escapes (\n, \x1b, \u{202e}); the rest stays.
/// The result is one line of valid UTF-8 that moves no cursor; escaping it again changes nothing.
std::string escaped(std::string_view text);

/// The same, of the first `most` bytes at most; a truncated text ends with its full size: "abc... (5000 bytes)".
std::string shortened(std::string_view text, std::size_t most = 80);

/// A whole message: escaped, and where it is longer than `longest_message`, "..." in its middle, since it begins with the file and ends
/// with what to do. Every Error and every line of the log passes through this.
std::string message_text(std::string_view text);

constexpr std::size_t longest_message = 4000;  ///< bytes

}  // namespace skipstone
