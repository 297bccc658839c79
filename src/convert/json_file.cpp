#include "convert/json_file.h"

#include <system_error>

#include "base/escape.h"
#include "base/input_file.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "json/json.h"
#include "json/parse_json.h"

namespace skipstone::convert {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;  // the largest tokenizers have some tens of MiB, calibration texts more

std::string read_file(const std::string& path) {
  std::string text = read_whole_file(path, most_bytes);
  if (text.empty()) fail(Code::bad_file, "{}: is empty", path);
  return text;
}

SortedJson read_json_object(const std::string& path) { return parse_json_object(read_file(path), path); }

SortedJson read_json_object_if_there(const std::string& path) {
  return platform::is_there(path) ? read_json_object(path) : SortedJson::object();
}

const SortedJson& member(const SortedJson& object, const char* key) {
  static const SortedJson null;
  if (!object.is_object()) return null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

std::optional<std::string> string_member(const SortedJson& object, const char* key) {
  const SortedJson& value = member(object, key);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

std::optional<bool> boolean_member(const SortedJson& object, const char* key) {
  const SortedJson& value = member(object, key);
  if (!value.is_boolean()) return std::nullopt;
  return value.get<bool>();
}

text::TokenFlags token_flags(const SortedJson& added_token) {
  const auto says = [&](const char* key) { return boolean_member(added_token, key).value_or(false); };
  return {says("lstrip"), says("rstrip"), says("single_word")};
}

std::string quote(const std::string& text) { return '"' + shortened(text, 160) + '"'; }

}  // namespace skipstone::convert
