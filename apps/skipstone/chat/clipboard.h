// The terminal's clipboard.
#pragma once

#include <string>
#include <string_view>

namespace cli::chat {

/// xterm's escape sequence OSC 52 ("Operating System Commands"), which copies `text` to the terminal's clipboard, also over ssh.
std::string copy_sequence(std::string_view text);

}  // namespace cli::chat
