#include "chat/output/channel_header.h"

#include "chat/output/python_call.h"

namespace skipstone::chat {
namespace {

std::string name_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  std::size_t end = at + mark.size();
  while (end < text.size() && is_name_byte(text[end])) ++end;
  return std::string(text.substr(at + mark.size(), end - at - mark.size()));
}

}  // namespace

ChannelHeader read_channel_header(std::string_view text) {
  return {name_after(text, message_channel), name_after(text, message_recipient)};
}

}  // namespace skipstone::chat
