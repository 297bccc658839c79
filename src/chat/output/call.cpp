#include "chat/output/call.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "chat/output/json_repair.h"
#include "chat/output/markers.h"
#include "json/json.h"
#include "json/json_parts.h"
#include "json/parse_json.h"

namespace skipstone::chat {
namespace {

/// A call may have a hundred thousand keys, which documents that keep their order search one by one.
std::optional<SortedJson> parsed(std::string_view text, std::string& note) {
  try {
    return parse_json<SortedJson>(text, "a tool call");
  } catch (const Error& error) {
    note = error.what();
    return std::nullopt;
  }
}

/// The value of the first key that is wanted, as it is written; "" if there is none.
template <typename Predicate>
std::string_view find(const std::vector<JsonMember>& members, Predicate wanted) {
  const auto found = std::ranges::find_if(members, wanted, &JsonMember::first);
  return found == members.end() ? std::string_view() : found->second;
}

/// The text that a value is; "" for other values.
std::string text_of(std::string_view value) { return value.starts_with('"') ? SortedJson::parse(value).get<std::string>() : ""; }

/// `arguments`: a part of `object`.
bool set_arguments(Call& call, std::string_view arguments, std::string_view object, std::string& note) {
  if (arguments.starts_with('"')) {
    call.arguments = text_of(arguments);
    if (is_json_object(call.arguments, note)) return true;
    std::optional<std::string> repaired = repaired_object(call.arguments);
    if (repaired) call.arguments = std::move(*repaired);
    return repaired.has_value();
  }
  if (!arguments.starts_with('{')) {
    note = "the arguments of a tool call are no object";
    return false;
  }
  call.arguments = arguments;
  call.arguments_at = static_cast<std::size_t>(arguments.data() - object.data());
  call.arguments_bytes = arguments.size();
  return true;
}

}  // namespace

bool is_name_key(std::string_view key) { return key == "name" || key == "tool_name"; }
bool is_id_key(std::string_view key) { return key == "id" || key == "tool_call_id"; }
bool is_arguments_key(std::string_view key) { return key == "arguments" || key == "parameters"; }

std::optional<Call> call_from_json(std::string_view object, std::string& note) {
  const std::optional<SortedJson> document = parsed(object, note);
  if (!document) return std::nullopt;
  const std::vector<JsonMember> outer = document->is_object() ? json_members(object) : std::vector<JsonMember>();
  const std::string_view function = find(outer, [](std::string_view key) { return key == "function"; });
  const std::vector<JsonMember> inner = function.starts_with('{') ? json_members(function) : outer;
  Call call{.name = text_of(find(inner, is_name_key)), .id = text_of(find(outer, is_id_key))};
  const std::string_view arguments = find(inner, is_arguments_key);
  if (call.name.empty() || arguments.empty()) {
    note = call.name.empty() ? "a tool call has no name" : "a tool call has no arguments";
    return std::nullopt;
  }
  if (!set_arguments(call, arguments, object, note)) return std::nullopt;
  return call;
}

bool is_json_object(std::string_view text, std::string& note) {
  const std::optional<SortedJson> document = parsed(text, note);
  if (document && !document->is_object()) note = "the arguments of a tool call are no object";
  return document && document->is_object();
}

std::optional<Call> call_from_damaged_json(std::string_view object) {
  const std::string repaired = repaired_json(object);
  JsonScanner scanner;
  if (repaired == object || scanner.scan(repaired) != JsonScanner::Status::done) return std::nullopt;
  std::string note;
  std::optional<Call> call = call_from_json(repaired, note);
  if (call) call->arguments_at = call->arguments_bytes = 0;
  return call;
}

std::optional<std::string> repaired_object(std::string_view text) {
  std::string repaired = repaired_json(text), note;
  return is_json_object(repaired, note) ? std::optional(std::move(repaired)) : std::nullopt;
}

std::optional<std::string> json_string(std::string_view text) {
  try {
    return SortedJson(text).dump();
  } catch (const SortedJson::exception&) {
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
  if (!quoted || !keys_.insert(*quoted).second) return false;
  if (keys_.size() > 1) text_ += ", ";
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
