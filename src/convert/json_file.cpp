#include "convert/json_file.h"

#include <algorithm>
#include <limits>
#include <string_view>
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

namespace {

constexpr std::string_view infinity = "Infinity";

/// Python writes an infinite limit as a word that JSON does not have: it becomes null, which counts as absent.
std::string without_infinities(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  while (!text.empty()) {
    if (!in_string && text.starts_with(infinity) && !out.ends_with('-')) {
      out += "null";
      text.remove_prefix(infinity.size());
      continue;
    }
    if (text.front() == '"') in_string = !in_string;
    const std::size_t count = in_string && text.front() == '\\' && text.size() > 1 ? 2 : 1;
    out += text.substr(0, count);
    text.remove_prefix(count);
  }
  return out;
}

}  // namespace

SortedJson read_json_object(const std::string& path) {
  const std::string text = read_file(path);
  return parse_json_object(text.find(infinity) == std::string::npos ? text : without_infinities(text), path);
}

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

const SortedJson* ConfigValues::find(const char* key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::uint32_t ConfigValues::count(const char* key, std::uint32_t low, std::uint32_t high, std::optional<std::uint32_t> fallback) const {
  const SortedJson* value = find(key);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr) fail(Code::bad_file, "{}: '{}' is missing; the checkpoint is incomplete", where_, key);
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() < low || value->get<std::uint64_t>() > high) {
    fail(Code::bad_file, "{}: '{}' is {}, expected {} to {}", where_, key, shown(*value), low, high);
  }
  return static_cast<std::uint32_t>(value->get<std::uint64_t>());
}

float ConfigValues::positive(const char* key, std::optional<float> fallback) const {
  const SortedJson* value = find(key);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr) fail(Code::bad_file, "{}: '{}' is missing; the checkpoint is incomplete", where_, key);
  return positive_number(*value, key, where_);
}

float ConfigValues::not_negative(const char* key, float fallback) const {
  const SortedJson* value = find(key);
  if (value == nullptr) return fallback;
  return value->is_number() && value->get<double>() == 0.0 ? 0.0f : positive_number(*value, key, where_);
}

bool ConfigValues::flag(const char* key, bool fallback) const {
  const SortedJson* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) fail(Code::bad_file, "{}: '{}' is {}, expected true or false", where_, key, shown(*value));
  return value->get<bool>();
}

std::string ConfigValues::text(const char* key, const std::string& fallback) const {
  const SortedJson* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_string()) fail(Code::bad_file, "{}: '{}' is {}, expected a string", where_, key, shown(*value));
  return value->get<std::string>();
}

float positive_number(const SortedJson& item, const char* key, const std::string& where) {
  constexpr double least = std::numeric_limits<float>::min(), most = std::numeric_limits<float>::max();
  if (!item.is_number() || !(item.get<double>() >= least && item.get<double>() <= most)) {
    fail(Code::bad_file, "{}: '{}' is {}, expected a number above 0", where, key, shown(item));
  }
  return static_cast<float>(item.get<double>());
}

}  // namespace skipstone::convert
