#include "chat/output/call.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "chat/output/json_repair.h"
#include "chat/output/markers.h"
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
    if (is_json_object(call.arguments, note)) return true;
    std::optional<std::string> repaired = repaired_object(call.arguments);
    if (repaired) call.arguments = std::move(*repaired);
    return repaired.has_value();
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

std::optional<Call> call_from_damaged_json(std::string_view object) {
  const std::string repaired = repaired_json(object);
  JsonScanner scanner;
  if (repaired == object || scanner.scan(repaired) != JsonScanner::Status::done) return std::nullopt;
  std::string note;
  std::optional<Call> call = call_from_json(repaired, scanner.members(), note);
  if (call) call->arguments_at = call->arguments_bytes = 0;
  return call;
}

std::optional<std::string> repaired_object(std::string_view text) {
  std::string repaired = repaired_json(text), note;
  return is_json_object(repaired, note) ? std::optional(std::move(repaired)) : std::nullopt;
}

std::optional<std::string> json_string(std::string_view text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::optional<std::string> bare_json(std::string_view value) {
  const std::string_view word = without_blanks_at_end(value.substr(leading_blanks(value)));
  std::string note;
  if (parsed(word, note)) return std::string(word);
  std::string repaired = repaired_json(word);
  if (parsed(repaired, note)) return repaired;
  return word.starts_with('[') || word.starts_with('{') ? json_from_python(word) : std::nullopt;
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

const Tool* CallOptions::tool(std::string_view name) const {
  if (!tools) return nullptr;
  const auto found = std::ranges::find(*tools, name, &Tool::name);
  return found == tools->end() ? nullptr : &*found;
}

}  // namespace skipstone::chat
