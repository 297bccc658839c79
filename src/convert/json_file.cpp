#include "convert/json_file.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/status.h"
#include "convert/strict_json.h"
#include "gguf/gguf.h"
#include "gguf/mapping.h"

namespace skipstone::convert {

using nlohmann::json;
namespace fs = std::filesystem;

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string read_file(const std::string& path) {
  std::error_code ignored;
  if (is_there(path) && !fs::is_regular_file(path, ignored)) fail(Code::bad_file, "{}: is not a regular file", path);
  const gguf::Mapping mapping(path);
  return {reinterpret_cast<const char*>(mapping.bytes().data()), mapping.bytes().size()};
}

json read_json_object(const std::string& path) { return parse_strict_json(read_file(path), path); }

json read_json_object_if_there(const std::string& path) { return is_there(path) ? read_json_object(path) : json::object(); }

const json& member(const json& object, const char* key) {
  static const json null;
  if (!object.is_object()) return null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

std::optional<std::string> string_member(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

std::optional<bool> boolean_member(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_boolean()) return std::nullopt;
  return value.get<bool>();
}

std::string quote(const std::string& text) {
  constexpr std::size_t kLongest = 160;
  const std::string safe = gguf::escaped(std::string_view(text).substr(0, kLongest));
  return '"' + safe + (text.size() > kLongest ? "..." : "") + '"';
}

}  // namespace skipstone::convert
