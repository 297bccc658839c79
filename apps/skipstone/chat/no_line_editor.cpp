#include "chat/line_input.h"

namespace cli::chat {

std::unique_ptr<LineInput> open_line_editor(const std::string&) { return nullptr; }

}  // namespace cli::chat
