// CallReader's part that streams a call's arguments.
#include <algorithm>
#include <utility>

#include "chat/output/call_reader.h"
#include "chat/output/markers.h"
#include "json/json.h"

namespace skipstone::chat {

CallReader::Step CallReader::begin_streaming(std::string name, std::string id, std::size_t arguments) {
  streaming_ = true;
  streamed_ = arguments;
  Step step{.kind = Kind::begin, .from = given_, .to = element_ + arguments, .call = {.name = std::move(name), .id = std::move(id)}};
  given_ = step.to;
  return step;
}

CallReader::Next CallReader::stream(const JsonScanner& scanner) {
  if (!options_.stream_arguments || bare_ || format_.id_is_last) return std::nullopt;
  const bool named = format_.syntax != CallSyntax::json;
  const auto& members = scanner.members();
  if (!streaming_ && named) {
    return can_be_call(name_) ? Next(begin_streaming(name_, id_, 0)) : std::nullopt;
  }
  if (!streaming_) {
    std::string name, id;
    for (const JsonScanner::Member& member : members) {
      if (member.key_end == 0 || member.value == 0) break;
      const std::string_view key = text_.substr(element_ + member.key + 1, member.key_end - member.key - 2);
      const std::string_view value = text_.substr(element_ + member.value, member.value_end == 0 ? 1 : member.value_end - member.value);
      if (is_arguments_key(key)) {
        return value.starts_with('{') && can_be_call(name) && !name.empty() ? Next(begin_streaming(name, id, member.value)) : std::nullopt;
      }
      if (member.value_end == 0 || !value.starts_with('"') || (!is_name_key(key) && !is_id_key(key))) continue;
      const auto text = SortedJson::parse(value, nullptr, false);
      if (text.is_string()) (is_name_key(key) ? name : id) = text.get<std::string>();
    }
    return std::nullopt;
  }
  std::size_t end = 0;
  for (const JsonScanner::Member& member : members) {
    if (!named && member.value == streamed_) end = member.value_end;
  }
  if (end == 0) end = scanner.at();
  end += element_;
  if (end <= given_) return std::nullopt;
  // Blanks are held until more text follows: should the call break off, they may be the format's.
  const std::string_view piece = text_.substr(given_, end - given_);
  end = given_ + without_blanks_at_end(piece.substr(0, piece.size() - unfinished_character(piece))).size();
  if (end <= given_) return std::nullopt;
  Step step{.kind = Kind::arguments, .from = given_, .to = end};
  given_ = end;
  return step;
}

}  // namespace skipstone::chat
