#include "chat/output/markers.h"

#include <algorithm>

namespace skipstone::chat {

FoundMarker find_marker(std::string_view text, std::span<const std::string_view> markers) {
  FoundMarker first;
  for (const std::string_view marker : markers) {
    if (marker.empty()) continue;
    const std::size_t at = text.find(marker);
    if (at < first.at || (at == first.at && at != std::string_view::npos && marker.size() > first.marker.size())) first = {at, marker};
  }
  return first;
}

std::size_t unfinished_character(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    const std::size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
    return byte < 0xf5 && length > back ? back : 0;
  }
  return 0;
}

std::size_t undecided_bytes(std::string_view text, std::span<const std::string_view> markers) {
  std::size_t most = unfinished_character(text);
  for (const std::string_view marker : markers) {
    for (std::size_t length = std::min(text.size(), marker.empty() ? 0 : marker.size() - 1); length > most; --length) {
      if (text.ends_with(marker.substr(0, length))) most = length;
    }
  }
  return most;
}

Match match(std::string_view text, std::string_view marker, bool ended) {
  if (marker.empty()) return Match::no;
  if (text.starts_with(marker)) return Match::yes;
  return !ended && text.size() < marker.size() && marker.starts_with(text) ? Match::undecided : Match::no;
}

std::size_t leading_blanks(std::string_view text) { return std::min(text.find_first_not_of(blanks), text.size()); }

std::string_view without_blanks_at_end(std::string_view text) {
  const std::size_t last = text.find_last_not_of(blanks);
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

bool is_name_byte(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' || byte == '-' ||
         byte == '.' || byte == ':' || byte == '/' || static_cast<unsigned char>(byte) >= 0x80;
}

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
