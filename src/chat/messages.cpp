#include "chat/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/escape.h"
#include "base/poll.h"
#include "base/status.h"
#include "chat/jinja/template.h"

namespace skipstone::chat {

using jinja::Dict;
using jinja::Origin;
using jinja::Sequence;
using jinja::Value;

const Value* member(const Value& object, std::string_view key) {
  const Dict* dict = object.dict();
  const Value* found = dict == nullptr ? nullptr : dict->find(key);
  return found == nullptr || found->is<jinja::None>() ? nullptr : found;
}

Value trusted_text(std::string_view text) { return jinja::make_string(nullptr, std::string(text), Origin::template_text); }

Value list_of(std::vector<Value> items) { return jinja::make_sequence(nullptr, Sequence::Kind::list, std::move(items)); }

Value text_part(const Value& text) {
  auto part = std::make_shared<Dict>(nullptr);
  part->set(trusted_text("type"), trusted_text("text"));
  part->set(trusted_text("text"), text);
  return jinja::DictRef(std::move(part));
}

Value with_member(const Value& object, std::string_view key, const Value* value) {
  auto copy = std::make_shared<Dict>(nullptr);
  for (const Dict::Item& entry : object.dict()->items()) {
    const jinja::String* name = entry.first.string();
    if (value != nullptr || name == nullptr || name->bytes() != key) copy->set(entry.first, entry.second);
  }
  if (value != nullptr) copy->set(trusted_text(key), *value);
  return jinja::DictRef(std::move(copy));
}

namespace {

constexpr std::array<std::string_view, 5> roles = {"system", "developer", "user", "assistant", "tool"};

const char* json_name(const Value& value) {
  if (value.is<jinja::None>()) return "null";
  if (value.is<bool>()) return "a boolean";
  if (value.string() != nullptr) return "a string";
  if (value.sequence() != nullptr) return "an array";
  return value.dict() != nullptr ? "an object" : "a number";
}

template <typename... Arguments>
[[noreturn]] void refuse(const std::string& path, fmt::format_string<Arguments...> what, Arguments&&... arguments) {
  fail_about(path, Code::invalid_argument, "{}: {}", path, fmt::format(what, std::forward<Arguments>(arguments)...));
}

void require_object(const Value& value, const std::string& path) {
  if (value.dict() == nullptr) refuse(path, "is {} where an object was expected", json_name(value));
}

const std::vector<Value>& require_array(const Value& value, const std::string& path) {
  if (value.sequence() == nullptr) refuse(path, "is {} where an array was expected", json_name(value));
  return value.sequence()->items;
}

/// The text of a required key.
std::string_view require_text(const Value& object, std::string_view key, const std::string& path) {
  const Value* value = member(object, key);
  const std::string place = fmt::format("{}.{}", path, key);
  if (value == nullptr) refuse(place, "is missing");
  if (value->string() == nullptr) refuse(place, "is {} where a string was expected", json_name(*value));
  return value->string()->bytes();
}

/// A type of a part, and its key that holds a text: those of chat completions, and those of responses and their messages.
struct TextPart {
  std::string_view type, key;
};
constexpr std::array<TextPart, 4> text_parts = {
    {{"text", "text"}, {"input_text", "text"}, {"output_text", "text"}, {"refusal", "refusal"}}};

/// A part of the type 'text', which is the one that templates know.
Value read_part(const Value& part, const std::string& path) {
  require_object(part, path);
  const std::string_view type = require_text(part, "type", path);
  const auto known = std::find_if(text_parts.begin(), text_parts.end(), [&](const TextPart& one) { return one.type == type; });
  if (known == text_parts.end()) refuse(path + ".type", "is '{}'; parts of the type 'text' are all that is read here", shortened(type, 40));
  require_text(part, known->key, path);
  return type == "text" ? part : text_part(*member(part, known->key));
}

/// A text, or a list of parts of the type 'text'.
Value read_content(const Value& content, const std::string& path) {
  if (content.string() != nullptr) return content;
  if (content.sequence() == nullptr) refuse(path, "is {} where a string or an array of parts was expected", json_name(content));
  const std::vector<Value>& given = content.sequence()->items;
  std::vector<Value> parts;
  for (std::size_t i = 0; i < given.size(); ++i) {
    poll(8);
    parts.push_back(read_part(given[i], fmt::format("{}[{}]", path, i)));
  }
  return list_of(std::move(parts));
}

/// One conversation's messages, in order.
class Reader {
 public:
  Value read(const Value& message, const std::string& path) {
    poll(32);
    require_object(message, path);
    const std::string role(require_text(message, "role", path));
    if (std::find(roles.begin(), roles.end(), role) == roles.end()) {
      refuse(path + ".role", "is '{}', which is none of system, developer, user, assistant, tool", shortened(role, 40));
    }
    Value read = without_nulls(message);
    const Value known = trusted_text(role);
    read = with_member(read, "role", &known);
    const Value* calls = member(message, "tool_calls");
    if (role == "assistant" && calls != nullptr) {
      const Value checked = read_calls(*calls, path + ".tool_calls");
      read = with_member(read, "tool_calls", checked.sequence()->items.empty() ? nullptr : &checked);
    } else if (calls != nullptr) {
      refuse(path + ".tool_calls", "is in a message of the role '{}'; only assistants call tools", role);
    }
    read = with_content(read, role, path);
    return role == "tool" ? read_result(read, path) : read;
  }

 private:
  static Value without_nulls(const Value& message) {
    auto copy = std::make_shared<Dict>(nullptr);
    for (const Dict::Item& entry : message.dict()->items()) {
      if (!entry.second.is<jinja::None>()) copy->set(entry.first, entry.second);
    }
    return jinja::DictRef(std::move(copy));
  }

  /// The message with its content checked. An answer may have none: clients store the null of an answer of calls.
  static Value with_content(const Value& message, const std::string& role, const std::string& path) {
    if (const Value* reasoning = member(message, "reasoning_content"); reasoning != nullptr && reasoning->string() == nullptr) {
      refuse(path + ".reasoning_content", "is {} where a string was expected", json_name(*reasoning));
    }
    if (const Value* given = member(message, "content")) {
      const Value content = read_content(*given, path + ".content");
      return with_member(message, "content", &content);
    }
    if (role != "assistant") refuse(path + ".content", "is missing");
    return message;
  }

  Value read_calls(const Value& given, const std::string& path) {
    const std::vector<Value>& calls = require_array(given, path);
    std::vector<Value> read;
    for (std::size_t i = 0; i < calls.size(); ++i) read.push_back(read_call(calls[i], fmt::format("{}[{}]", path, i)));
    return list_of(std::move(read));
  }

  Value read_call(const Value& call, const std::string& path) {
    poll(32);
    require_object(call, path);
    const Value* type = member(call, "type");
    if (type != nullptr && (type->string() == nullptr || type->string()->bytes() != "function"))
      refuse(path + ".type", "is not 'function'");
    const Value* function = member(call, "function");
    if (function == nullptr) refuse(path + ".function", "is missing");
    require_object(*function, path + ".function");
    const std::string name(require_text(*function, "name", path + ".function"));
    const Value arguments = read_arguments(*function, path + ".function.arguments");
    const Value checked = with_member(*function, "arguments", &arguments);
    Value id = member(call, "id") != nullptr ? *member(call, "id")
                                             : jinja::make_string(nullptr, fmt::format("call{:05}", tools_by_id_.size()), Origin::data);
    if (id.string() == nullptr) refuse(path + ".id", "is {} where a string was expected", json_name(id));
    tools_by_id_[std::string(id.string()->bytes())] = name;
    const Value kind = trusted_text("function");
    Value read = with_member(call, "function", &checked);
    read = with_member(read, "id", &id);
    return with_member(read, "type", &kind);
  }

  /// An object, also where it is written as a string, as in OpenAI's API.
  static Value read_arguments(const Value& function, const std::string& path) {
    const Value* given = member(function, "arguments");
    Value arguments = given == nullptr ? Value(jinja::DictRef(std::make_shared<Dict>(nullptr))) : *given;
    if (const jinja::String* text = arguments.string()) {
      const bool empty = text->bytes().find_first_not_of(" \t\r\n") == std::string_view::npos;
      arguments = jinja::read_json(empty ? std::string_view("{}") : text->bytes(), path, Origin::data);
    }
    if (arguments.dict() == nullptr) refuse(path, "is {} where an object was expected", json_name(arguments));
    return arguments;
  }

  Value read_result(const Value& message, const std::string& path) {
    const std::string id(require_text(message, "tool_call_id", path));
    const auto call = tools_by_id_.find(id);
    if (call == tools_by_id_.end()) refuse(path + ".tool_call_id", "is '{}', and no tool call before it has that id", shortened(id, 40));
    if (member(message, "name") != nullptr) return message;
    const Value name = jinja::make_string(nullptr, call->second, Origin::data);
    return with_member(message, "name", &name);
  }

  std::map<std::string, std::string> tools_by_id_;
};

Value read_tools(std::string_view json) {
  if (json.empty()) return {};
  const Value tools = jinja::read_json(json, "tools", Origin::data);
  if (tools.is<jinja::None>()) return {};
  const std::vector<Value>& items = require_array(tools, "tools");
  for (std::size_t i = 0; i < items.size(); ++i) {
    poll(16);
    const std::string path = fmt::format("tools[{}]", i);
    require_object(items[i], path);
    const std::string_view type = require_text(items[i], "type", path);
    if (type != "function")
      refuse(path + ".type", "is '{}'; tools of the type 'function' are all that there are here", shortened(type, 40));
    const Value* function = member(items[i], "function");
    if (function == nullptr) refuse(path + ".function", "is missing");
    require_object(*function, path + ".function");
    if (require_text(*function, "name", path + ".function").empty()) refuse(path + ".function.name", "is empty");
    const Value* parameters = member(*function, "parameters");
    if (parameters != nullptr) require_object(*parameters, path + ".function.parameters");
  }
  return items.empty() ? Value() : tools;
}

bool flag(const Value& value, const std::string& name) {
  if (!value.is<bool>()) refuse("options." + name, "is {} where a boolean was expected", json_name(value));
  return *value.get<bool>();
}

// The variables by which templates are told not to think; each family has one of them.
constexpr std::array<std::string_view, 2> thinking_switches = {"enable_thinking", "thinking"};

bool is_false(const Value* value) { return value != nullptr && value->is<bool>() && !*value->get<bool>(); }

/// Without reasoning: the effort "none" is OpenAI's word for what templates call enable_thinking.
void read_effort(const Value& options, Conversation& conversation) {
  const Value* effort = member(options, "reasoning_effort");
  const bool none = effort != nullptr && effort->string() != nullptr && effort->string()->bytes() == "none";
  for (const std::string_view name : thinking_switches) {
    const Value* given = member(options, name);
    if (none && given == nullptr) conversation.variables.emplace_back(trusted_text(name), false);
    if (is_false(given) || (none && given == nullptr)) conversation.without_reasoning = true;
  }
}

void read_options(std::string_view json, Conversation& conversation) {
  if (json.empty()) return;
  const Value options = jinja::read_json(json, "options", Origin::data);
  if (options.is<jinja::None>()) return;
  require_object(options, "options");
  bool wants_prompt = false;
  for (const Dict::Item& entry : options.dict()->items()) {
    const std::string name(entry.first.string()->bytes());
    if (name == "add_generation_prompt") {
      wants_prompt = conversation.add_generation_prompt = flag(entry.second, name);
    } else if (name == "continue_final_message") {
      conversation.continue_final_message = flag(entry.second, name);
    } else if (name == "now") {
      conversation.now = jinja::parsed_time(require_text(options, "now", "options"));
    } else if (name == "messages" || name == "tools" || name == "bos_token" || name == "eos_token") {
      refuse("options." + shortened(name, 40), "is not for options to set");
    } else if (!entry.second.is<jinja::None>()) {
      conversation.variables.push_back(entry);
    }
  }
  if (conversation.continue_final_message && wants_prompt)
    refuse("options.continue_final_message",
           "is true beside add_generation_prompt; an answer either continues the last message or begins a new one");
  if (conversation.continue_final_message) conversation.add_generation_prompt = false;
  read_effort(options, conversation);
}

}  // namespace

Conversation read_conversation(std::string_view messages, std::string_view tools, std::string_view options) {
  Conversation conversation;
  const Value given = jinja::read_json(messages, "messages", Origin::data);
  const std::vector<Value>& items = require_array(given, "messages");
  if (items.empty()) refuse("messages", "there are none");
  Reader reader;
  for (std::size_t i = 0; i < items.size(); ++i) conversation.messages.push_back(reader.read(items[i], fmt::format("messages[{}]", i)));
  conversation.tools = read_tools(tools);
  read_options(options, conversation);
  conversation.bytes = messages.size() + tools.size() + options.size();
  return conversation;
}

}  // namespace skipstone::chat
