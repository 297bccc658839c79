// The terminal's clipboard.
#pragma once

#include <string>
#include <string_view>

namespace cli::chat {

/// The escape sequence OSC 52 of xterm's "Operating System Commands", which puts `text` into the clipboard of the terminal, also over ssh.
std::string copy_sequence(std::string_view text);

}  // namespace cli::chat
