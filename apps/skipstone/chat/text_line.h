// Text that a terminal hands over.
#pragma once

#include <string>
#include <string_view>

namespace cli::chat {

/// What was pasted, with line ends as "\n" and without control characters other than those and tabs.
std::string pasted_text(std::string_view bytes);

/// Takes the backslash off a line that goes on behind it; false where it does not. Two backslashes at the end are one, and no such sign.
bool goes_on(std::string& line);

}  // namespace cli::chat
