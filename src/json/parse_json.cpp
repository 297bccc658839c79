#include "json/parse_json.h"

#include <unordered_set>
#include <vector>

#include "base/escape.h"
#include "base/status.h"
#include "json/json.h"

namespace skipstone {
namespace {

constexpr int deepest = 32;  // no file that is read has more than ten levels

/// Sees every key while a text is parsed.
template <typename Document>
class Check {
 public:
  explicit Check(const std::string& where) : where_(where) {}

  bool operator()(int depth, typename Document::parse_event_t event, const Document& parsed) {
    using Event = typename Document::parse_event_t;
    if (depth > deepest) fail(Code::bad_file, "{}: its JSON nests deeper than {} levels; the file is damaged", where_, deepest);
    if (event == Event::object_start) {
      keys_.emplace_back();
    } else if (event == Event::object_end) {
      keys_.pop_back();
    } else if (event == Event::key && !keys_.back().insert(parsed.template get<std::string>()).second) {
      fail(Code::bad_file, "{}: the key {} stands there twice; the file is damaged", where_, shown(SortedJson(parsed)));
    }
    return true;
  }

 private:
  const std::string& where_;
  std::vector<std::unordered_set<std::string>> keys_;  // of each object that is open
};

}  // namespace

template <typename Document>
Document parse_json(std::string_view text, const std::string& where) {
  try {
    Check<Document> check(where);
    return Document::parse(
        text, [&](int depth, typename Document::parse_event_t event, Document& parsed) { return check(depth, event, parsed); });
  } catch (const typename Document::parse_error& error) {
    fail(Code::bad_file, "{}: is not valid JSON (around byte {}); the file is damaged", where, error.byte);
  } catch (const typename Document::exception&) {
    fail(Code::bad_file, "{}: holds JSON that cannot be read, such as a number out of range; the file is damaged", where);
  }
}

template SortedJson parse_json(std::string_view text, const std::string& where);
template Json parse_json(std::string_view text, const std::string& where);

SortedJson parse_json_object(std::string_view text, const std::string& where) {
  SortedJson document = parse_json<SortedJson>(text, where);
  if (!document.is_object()) fail(Code::bad_file, "{}: holds a JSON {} where an object was expected", where, document.type_name());
  return document;
}

std::string shown(const SortedJson& value) {
  constexpr std::size_t most = 60;
  std::string text = value.dump(-1, ' ', true);  // ASCII, so that it can be cut anywhere
  if (text.size() > most) text = text.substr(0, most) + "...";
  return escaped(text);
}

}  // namespace skipstone
