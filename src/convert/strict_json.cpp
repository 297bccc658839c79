#include "convert/strict_json.h"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "gguf/gguf.h"

namespace skipstone::convert {
namespace {

using nlohmann::json;

constexpr int kDeepest = 32;  // config.json has two or three levels

/// Sees every key while a text is parsed.
class KeyCheck {
 public:
  explicit KeyCheck(const std::string& where) : where_(where) {}

  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    if (depth > kDeepest) fail(Code::bad_file, "{}: its JSON nests deeper than {} levels; the file is damaged", where_, kDeepest);
    if (event == json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      keys_.pop_back();
    } else if (event == json::parse_event_t::key && !keys_.back().insert(parsed.get<std::string>()).second) {
      fail(Code::bad_file, "{}: the key {} stands there twice; the file is damaged", where_, shown(parsed));
    }
    return true;
  }

 private:
  const std::string& where_;
  std::vector<std::unordered_set<std::string>> keys_;  // of each object that is open
};

}  // namespace

json parse_strict_json(std::string_view text, const std::string& where) {
  json document;
  try {
    KeyCheck check(where);
    document = json::parse(text, [&](int depth, json::parse_event_t event, json& parsed) { return check(depth, event, parsed); });
  } catch (const json::parse_error& error) {
    fail(Code::bad_file, "{}: is not valid JSON (around byte {}); the file is damaged", where, error.byte);
  } catch (const json::exception&) {
    fail(Code::bad_file, "{}: holds JSON that cannot be read, such as a number out of range; the file is damaged", where);
  }
  if (!document.is_object()) fail(Code::bad_file, "{}: holds a JSON {} where an object was expected", where, document.type_name());
  return document;
}

std::string shown(const json& value) {
  constexpr std::size_t most = 60;
  std::string text = value.dump(-1, ' ', true);  // ASCII, so that it can be cut anywhere
  if (text.size() > most) text = text.substr(0, most) + "...";
  return gguf::escaped(text);
}

}  // namespace skipstone::convert
