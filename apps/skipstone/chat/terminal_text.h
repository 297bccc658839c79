// Text from a terminal, and for its clipboard.
#pragma once

#include <string>
#include <string_view>

namespace cli::chat {

/// Normalises pasted text: line ends as "\n", without control characters other than those and tabs.
std::string pasted_text(std::string_view bytes);

/// Removes the backslash at a line's end that continues the line; false if there is none. Two backslashes are a literal one.
bool goes_on(std::string& line);

/// xterm's escape sequence OSC 52 ("Operating System Commands"), which copies `text` to the terminal's clipboard, also over ssh.
std::string copy_sequence(std::string_view text);

}  // namespace cli::chat
