// Text from a terminal.
#pragma once

#include <string>
#include <string_view>

namespace cli::chat {

/// Normalises pasted text: line ends as "\n", without control characters other than those and tabs.
std::string pasted_text(std::string_view bytes);

/// Removes the backslash at a line's end that continues the line; false if there is none. Two backslashes are a literal one.
bool goes_on(std::string& line);

}  // namespace cli::chat
