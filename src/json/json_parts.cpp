#include "json/json_parts.h"

#include <algorithm>

#include "json/json.h"

namespace skipstone {
namespace {

/// Walks over the values of a valid text, one level of it.
class Cursor {
 public:
  /// `container`: an object or an array.
  explicit Cursor(std::string_view container) : text_(container), at_(std::min(text_.find_first_of("{["), text_.size()) + 1) {}

  /// Whether there is another part; the cursor is then at its beginning.
  bool next() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n,", at_), text_.size());
    return at_ < text_.size() && text_[at_] != '}' && text_[at_] != ']';
  }

  std::string_view value() {
    const std::size_t begin = at_;
    skip_value();
    return text_.substr(begin, at_ - begin);
  }

  void skip_colon() { at_ = std::min(text_.find_first_not_of(" \t\r\n:", at_), text_.size()); }

 private:
  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  void skip_value() {
    std::size_t open = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
      } else if (c == '{' || c == '[') {
        ++open;
        ++at_;
        continue;
      } else if (c == '}' || c == ']') {
        --open;
        ++at_;
      } else if (open > 0) {
        ++at_;
        continue;
      } else {  // a number, true, false, null
        at_ = std::min(text_.find_first_of(" \t\r\n,:]}", at_), text_.size());
      }
      if (open == 0) return;
    }
  }

  std::string_view text_;
  std::size_t at_;
};

std::string decoded(std::string_view written) {
  if (written.find('\\') == std::string_view::npos) return std::string(written.substr(1, written.size() - 2));
  return SortedJson::parse(written).get<std::string>();
}

}  // namespace

std::vector<JsonMember> json_members(std::string_view object) {
  std::vector<JsonMember> members;
  for (Cursor cursor(object); cursor.next();) {
    std::string key = decoded(cursor.value());
    cursor.skip_colon();
    members.emplace_back(std::move(key), cursor.value());
  }
  return members;
}

std::vector<std::string_view> json_items(std::string_view array) {
  std::vector<std::string_view> items;
  for (Cursor cursor(array); cursor.next();) items.push_back(cursor.value());
  return items;
}

std::string_view json_member(const std::vector<JsonMember>& members, std::string_view key) {
  const auto found = std::ranges::find(members, key, &JsonMember::first);
  return found == members.end() || found->second == "null" ? std::string_view() : found->second;
}

std::string json_object_with(std::string_view object, const std::vector<std::pair<std::string, std::string>>& more) {
  std::string text(object.substr(0, object.rfind('}')));
  bool first = json_members(object).empty();
  for (const auto& [key, value] : more) {
    text.append(std::exchange(first, false) ? "" : ",").append(Json(key).dump()).append(":").append(value);
  }
  return text += '}';
}

}  // namespace skipstone
