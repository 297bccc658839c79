#include "chat/text_line.h"

namespace cli::chat {

std::string pasted_text(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (byte == '\r') {
      text += '\n';
      if (i + 1 < bytes.size() && bytes[i + 1] == '\n') ++i;
    } else if (byte == '\n' || byte == '\t' || (byte >= 0x20 && byte != 0x7f)) {
      text += bytes[i];
    }
  }
  return text;
}

bool goes_on(std::string& line) {
  if (!line.ends_with('\\')) return false;
  line.pop_back();
  return !line.ends_with('\\');
}

}  // namespace cli::chat
