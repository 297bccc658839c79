#include "chat/output/call.h"

#include <algorithm>

#include "base/status.h"
#include "json/json.h"
#include "json/parse_json.h"

namespace skipstone::chat {
namespace {

std::optional<Json> parsed(std::string_view text, std::string& note) {
  try {
    return parse_json<Json>(text, "a tool call");
  } catch (const Error& error) {
    note = error.what();
    return std::nullopt;
  }
}

template <typename Predicate>
const Json* find(const Json& object, Predicate wanted) {
  for (const auto& [key, value] : object.items()) {
    if (wanted(key)) return &value;
  }
  return nullptr;
}

/// The place of an object's arguments in its text. A key that was written with escapes is not found.
const JsonScanner::Member* find_arguments(std::string_view object, const std::vector<JsonScanner::Member>& members) {
  const auto found = std::ranges::find_if(members, [&](const JsonScanner::Member& member) {
    return member.value_end != 0 && is_arguments_key(object.substr(member.key + 1, member.key_end - member.key - 2));
  });
  return found == members.end() ? nullptr : &*found;
}

bool set_arguments(Call& call, const Json& arguments, std::string_view object, const JsonScanner::Member* member, std::string& note) {
  if (arguments.is_string()) {
    call.arguments = arguments.get<std::string>();
    return is_json_object(call.arguments, note);
  }
  if (!arguments.is_object()) {
    note = "the arguments of a tool call are no object";
    return false;
  }
  if (member == nullptr) {
    call.arguments = arguments.dump();
    return true;
  }
  call.arguments_at = member->value;
  call.arguments_bytes = member->value_end - member->value;
  call.arguments = object.substr(call.arguments_at, call.arguments_bytes);
  return true;
}

}  // namespace

bool is_name_key(std::string_view key) { return key == "name" || key == "tool_name"; }
bool is_id_key(std::string_view key) { return key == "id" || key == "tool_call_id"; }
bool is_arguments_key(std::string_view key) { return key == "arguments" || key == "parameters"; }

std::optional<Call> call_from_json(std::string_view object, const std::vector<JsonScanner::Member>& members, std::string& note) {
  const std::optional<Json> document = parsed(object, note);
  if (!document) return std::nullopt;
  const Json* inner = find(*document, [](std::string_view key) { return key == "function"; });
  const bool nested = inner != nullptr && inner->is_object();
  const Json& function = nested ? *inner : *document;
  const Json* name = find(function, is_name_key);
  const Json* arguments = find(function, is_arguments_key);
  if (name == nullptr || !name->is_string() || name->get_ref<const std::string&>().empty()) {
    note = "a tool call has no name";
    return std::nullopt;
  }
  if (arguments == nullptr) {
    note = "a tool call has no arguments";
    return std::nullopt;
  }
  Call call{.name = name->get<std::string>()};
  if (const Json* id = find(*document, is_id_key); id != nullptr && id->is_string()) call.id = id->get<std::string>();
  if (!set_arguments(call, *arguments, object, nested ? nullptr : find_arguments(object, members), note)) return std::nullopt;
  return call;
}

bool is_json_object(std::string_view text, std::string& note) {
  const std::optional<Json> document = parsed(text, note);
  if (document && !document->is_object()) note = "the arguments of a tool call are no object";
  return document && document->is_object();
}

std::optional<std::string> json_string(std::string_view text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::optional<std::string> json_of_bare(std::string_view value, bool is_text) {
  if (!is_text) {
    const std::size_t first = value.find_first_not_of(" \t\r\n");
    const std::string_view word = first == std::string_view::npos ? "" : value.substr(first, value.find_last_not_of(" \t\r\n") + 1 - first);
    if (word == "True") return "true";
    if (word == "False") return "false";
    if (word == "None") return "null";
    std::string note;
    if (parsed(word, note)) return std::string(word);
  }
  return json_string(value);
}

bool ObjectWriter::add(std::string_view key, std::string_view json_value) {
  const std::optional<std::string> quoted = json_string(key);
  if (!quoted || std::ranges::find(keys_, *quoted) != keys_.end()) return false;
  if (!keys_.empty()) text_ += ", ";
  keys_.push_back(*quoted);
  text_ += *quoted + ": ";
  text_ += json_value;
  return true;
}

namespace {

const SortedJson* member(const SortedJson& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

/// "string", a list of types with it, an enumeration of strings.
bool allows_text(const SortedJson& schema) {
  if (const SortedJson* type = member(schema, "type")) {
    if (type->is_string()) return *type == "string";
    return type->is_array() && std::ranges::find(*type, SortedJson("string")) != type->end();
  }
  const SortedJson* values = member(schema, "enum");
  return values != nullptr && values->is_array() && !values->empty() &&
         std::ranges::all_of(*values, [](const SortedJson& v) { return v.is_string(); });
}

}  // namespace

bool Tool::is_text(std::string_view parameter, bool otherwise) const {
  const auto found = text_parameters.find(parameter);
  return found == text_parameters.end() ? otherwise : found->second;
}

std::vector<Tool> tools_from(const SortedJson& list) {
  std::vector<Tool> tools;
  if (!list.is_array()) return tools;
  for (const SortedJson& entry : list) {
    const SortedJson* inner = member(entry, "function");
    const SortedJson& function = inner != nullptr ? *inner : entry;
    const SortedJson* name = member(function, "name");
    if (name == nullptr || !name->is_string()) continue;
    Tool tool{name->get<std::string>(), {}};
    const SortedJson* parameters = member(function, "parameters");
    const SortedJson* properties = parameters != nullptr ? member(*parameters, "properties") : nullptr;
    if (properties != nullptr && properties->is_object()) {
      for (const auto& [key, schema] : properties->items()) tool.text_parameters.emplace(key, allows_text(schema));
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

const Tool* CallOptions::tool(std::string_view name) const {
  if (!tools) return nullptr;
  const auto found = std::ranges::find(*tools, name, &Tool::name);
  return found == tools->end() ? nullptr : &*found;
}

}  // namespace skipstone::chat
