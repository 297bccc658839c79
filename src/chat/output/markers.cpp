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

}  // namespace skipstone::chat
