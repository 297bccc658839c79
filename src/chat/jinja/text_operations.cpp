// Texts made from texts: operations that string methods and filters share.
#include <algorithm>

#include "base/status.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace skipstone::chat::jinja {

const String& string_argument(const Value& value, const char* what) {
  require_defined(value);
  if (value.string() == nullptr) fail(Code::invalid_argument, "{} must be str, not {}", what, type_name(value));
  return *value.string();
}

Text replaced(Guard& guard, const Text& text, std::string_view what, const Text& with, std::int64_t most) {
  guard.step(text.size() / 64);
  Text out;
  std::size_t done = 0;
  for (std::size_t from = 0; most != 0; --most) {
    const std::size_t found = find_text(text.bytes(), what, from);
    if (found == std::string_view::npos) break;
    guard.step();
    out.append_part(text, done, found);
    out.append(with);
    done = found + what.size();
    from = done;
    if (!what.empty()) continue;
    if (found >= text.size()) break;
    from = found + character_size(text.bytes(), found);
  }
  out.append_part(text, done, text.size());
  return out;
}

Text stripped(const Text& text, const Value* characters, bool front, bool back) {
  const std::string_view bytes = text.bytes();
  const bool white = characters == nullptr || characters->is<None>();
  if (!white && string_argument(*characters, "the argument of strip").text.size() > 1000) {
    fail(Code::invalid_argument, "the argument of strip is longer than 1000 bytes");
  }
  const std::string_view set = white ? std::string_view() : string_argument(*characters, "the argument of strip").bytes();
  const std::size_t begin = !front ? 0 : white ? strip_begin(bytes) : strip_begin(bytes, set);
  const std::string_view rest = bytes.substr(begin);
  const std::size_t end = !back ? bytes.size() : begin + (white ? strip_end(rest) : strip_end(rest, set));
  return text.part(begin, end);
}

Text recased(const Text& text, Casing casing) {
  Text out;
  out.reserve(text.size());
  const std::string_view bytes = text.bytes();
  bool inside = false;  // a word, or the text
  for (std::size_t at = 0, size = 0; at < bytes.size(); at += size) {
    size = character_size(bytes, at);
    const std::string_view character = bytes.substr(at, size);
    const std::string lower = with_case(character, Letters::lower);
    const std::string upper = with_case(character, Letters::upper);
    std::string chosen = casing == Casing::upper ? upper : lower;
    if (casing == Casing::swapped) {
      chosen = character == upper ? lower : upper;
    } else if (casing != Casing::upper && casing != Casing::lower && !inside) {
      chosen = upper.size() > 1 && character_size(upper, 0) < upper.size()  // one to many: the first alone is a capital
                   ? upper.substr(0, character_size(upper, 0)) +
                         with_case(std::string_view(upper).substr(character_size(upper, 0), 1), Letters::lower)
                   : upper;
    }
    inside = casing == Casing::titled ? lower != upper : true;
    out.append(chosen, text.origin_at(at));
  }
  return out;
}

std::vector<Value> lines_of(Guard& guard, const Text& text, bool keep_ends, bool markup) {
  guard.step(text.size() / 16);
  const std::string_view bytes = text.bytes();
  std::vector<Value> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0, size = 0; at < bytes.size(); at += size) {
    size = character_size(bytes, at);
    const char32_t code = code_point_at(bytes, at);
    const bool ends = (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 || code == 0x2029;
    if (!ends) continue;
    if (code == '\r' && at + 1 < bytes.size() && bytes[at + 1] == '\n') size = 2;
    lines.push_back(make_string(&guard, text.part(begin, keep_ends ? at + size : at), markup));
    begin = at + size;
  }
  if (begin < bytes.size()) lines.push_back(make_string(&guard, text.part(begin), markup));
  return lines;
}

}  // namespace skipstone::chat::jinja
