#include "serve/anthropic_request.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "json/json.h"
#include "json/json_parts.h"
#include "serve/api_error.h"
#include "serve/tool_list.h"

namespace cli::serve::anthropic {

using skipstone::SortedJson;

namespace {

// ---- values of a request ----

/// A value as it is written, and its place in the request; without text it is absent or null.
struct Value {
  std::string_view text;
  std::string place;

  explicit operator bool() const { return !text.empty() && text != "null"; }
  bool is_object() const { return text.starts_with('{'); }
  bool is_list() const { return text.starts_with('['); }
  bool is_text() const { return text.starts_with('"'); }
  bool is_empty() const { return is_object() ? skipstone::json_members(text).empty() : is_list() && skipstone::json_items(text).empty(); }
};

[[noreturn]] void refuse_kind(const Value& value, const char* wanted) {
  if (value.text.empty()) refuse(value.place, "'{}' is missing", value.place);
  refuse(value.place, "'{}' has to be {}, not {}", value.place, wanted, name_of(SortedJson::parse(value.text)));
}

/// What a client wrote, for a sentence.
std::string shown(const std::string& text) { return skipstone::shortened(text, 40); }

/// A text as it is written, with quotes.
std::string_view written_text(const Value& value) {
  if (!value.is_text()) refuse_kind(value, "a text");
  return value.text;
}

std::string text_of(const Value& value) { return SortedJson::parse(written_text(value)).get<std::string>(); }

std::string name_of(const Value& value) {
  std::string name = text_of(value);
  if (name.empty()) refuse(value.place, "'{}' is empty", value.place);
  return name;
}

bool flag_of(const Value& value) {
  if (value.text != "true" && value.text != "false") refuse_kind(value, "true or false");
  return value.text == "true";
}

class Object {
 public:
  explicit Object(const Value& value) : place_(value.place) {
    if (!value.is_object()) refuse_kind(value, "an object");
    members_ = skipstone::json_members(value.text);
  }
  /// The request itself: members have no place but their names.
  explicit Object(std::string_view text) : members_(skipstone::json_members(text)) {}

  Value operator[](std::string_view key) const {
    return {skipstone::json_member(members_, key), place_.empty() ? std::string(key) : fmt::format("{}.{}", place_, key)};
  }

 private:
  std::string place_;
  std::vector<skipstone::JsonMember> members_;
};

std::vector<Value> items_of(const Value& list) {
  if (!list.is_list()) refuse_kind(list, "a list");
  std::vector<Value> items;
  for (const std::string_view item : skipstone::json_items(list.text))
    items.push_back({item, fmt::format("{}[{}]", list.place, items.size())});
  return items;
}

std::string joined(const std::vector<std::string>& all) { return fmt::format("{}", fmt::join(all, ",")); }

// ---- messages ----

/// A message of a chat in the making; its parts are texts as they are written. An assistant's are pieces of one text, which citations cut;
/// those of others are texts of their own, with a line end after each but the last.
struct Message {
  std::string role;
  std::vector<std::string> parts, calls;
  std::string reasoning;  ///< without quotes
  std::string members;    ///< of results alone

  std::string json() const {
    std::string text = fmt::format(R"({{"role":"{}","content":)", role);
    if (parts.size() > 1) {
      std::vector<std::string> all;
      for (const std::string& part : parts) {
        const bool line = role != "assistant" && part != R"("")" && &part != &parts.back();
        all.push_back(
            fmt::format(R"({{"type":"text","text":{}{}"}})", std::string_view(part).substr(0, part.size() - 1), line ? "\\n" : ""));
      }
      text += "[" + joined(all) + "]";
    } else {
      text += !parts.empty() ? parts.front() : calls.empty() ? R"("")" : "null";
    }
    if (!reasoning.empty()) text += fmt::format(R"(,"reasoning_content":"{}")", reasoning);
    if (!calls.empty()) text += fmt::format(R"(,"tool_calls":[{}])", joined(calls));
    return text + members + "}";
  }
};

/// Calls `take_text(text)` for each text of a content, which may be one itself, and `take_block(block, type)` for its other blocks.
template <typename Text, typename Block>
void for_each_block(const Value& content, const Text& take_text, const Block& take_block) {
  if (content.is_text()) return take_text(content);
  if (!content.is_list()) refuse_kind(content, "a text or a list of blocks");
  for (const Value& item : items_of(content)) {
    const Object block(item);
    const std::string type = text_of(block["type"]);
    type == "text" ? take_text(block["text"]) : take_block(block, type);
  }
}

[[noreturn]] void refuse_type(const Object& block, const std::string& type, const char* possible) {
  const std::string place = block["type"].place;
  refuse(place, "'{}' is '{}', which is not built; possible are {}", place, shown(type), possible);
}

void add_text(Message& message, const Value& text) { message.parts.emplace_back(written_text(text)); }

/// A block that is text for the model: a document or a search result, with what describes it on lines of their own.
void add_source(Message& message, const Object& block, const std::string& type, const char* possible) {
  if (type != "document" && type != "search_result") refuse_type(block, type, possible);
  for (const char* key : {"title", "context", "source"}) {
    if (const Value line = block[key]; line.is_text()) message.parts.emplace_back(line.text);
  }
  if (type == "search_result") {
    return for_each_block(
        block["content"], [&](const Value& text) { add_text(message, text); },
        [](const Object& other, const std::string& kind) { refuse_type(other, kind, "text"); });
  }
  const Object source(block["source"]);
  if (const std::string kind = text_of(source["type"]); kind != "text") refuse_type(source, kind, "text");
  add_text(message, source["data"]);
}

/// The turns of a conversation as messages of a chat. Turns of one role that follow each other are one message.
class Turns {
 public:
  void add_system(const Value& content) {
    std::vector<std::string_view> texts;
    for_each_block(
        content,
        [&](const Value& text) {
          // Claude Code's note to the API's billing, which is another one in each request: it would end every cached prefix.
          if (!written_text(text).starts_with("\"x-anthropic-billing-header:")) texts.push_back(text.text);
        },
        [](const Object& block, const std::string& type) { refuse_type(block, type, "text"); });
    for (const std::string_view text : texts) last("system").parts.emplace_back(text);
  }

  void add(const Value& given) {
    const Object turn(given);
    const Value content = turn["content"];
    const std::string role = text_of(turn["role"]);
    if (role == "system") return add_system(content);
    const bool user = role == "user";
    if (!user && role != "assistant")
      refuse(turn["role"].place, "'{}' is '{}'; possible are user and assistant", turn["role"].place, shown(role));
    for_each_block(
        content, [&](const Value& text) { add_text(last(role), text); },
        [&](const Object& block, const std::string& type) { user ? add_of_user(block, type) : add_of_assistant(block, type); });
    if (content.is_empty()) last(role);
  }

  /// Whether the last message is the beginning of an answer, which the model is to continue. An empty one is left out.
  bool end_with_begun_answer() {
    if (messages_.empty() || messages_.back().role != "assistant") return false;
    const Message& end = messages_.back();
    if (!end.calls.empty()) refuse("messages", "'messages' ends with a tool_use block; its tool_result has to follow");
    if (std::ranges::any_of(end.parts, [](const std::string& part) { return part != R"("")"; })) return true;
    if (!end.reasoning.empty()) refuse("messages", "'messages' ends with a thinking block, which cannot be continued");
    messages_.pop_back();
    return false;
  }

  std::string json() const {
    std::vector<std::string> all;
    for (const Message& message : messages_) all.push_back(message.json());
    if (all.empty()) refuse("messages", "'messages' has no message that a model could answer");
    return "[" + joined(all) + "]";
  }

 private:
  /// The last message if it is of this role, or else a new one.
  Message& last(const std::string& role) {
    if (messages_.empty() || messages_.back().role != role) messages_.push_back({role, {}, {}, {}, {}});
    return messages_.back();
  }

  void add_of_user(const Object& block, const std::string& type) {
    if (type != "tool_result") {
      Message source;
      add_source(source, block, type, "text, tool_result, document and search_result");
      std::ranges::move(source.parts, std::back_inserter(last("user").parts));
      return;
    }
    const Value id = block["tool_use_id"];
    if (!calls_.contains(text_of(id)))
      refuse(id.place, "'{}' is '{}', and no tool_use before it has that id", id.place, shown(text_of(id)));
    Message result{"tool", {}, {}, {}, fmt::format(R"(,"tool_call_id":{})", id.text)};
    if (const Value failed = block["is_error"]; failed && flag_of(failed)) result.members += R"(,"is_error":true)";
    if (const Value content = block["content"]) {
      for_each_block(
          content, [&](const Value& text) { add_text(result, text); },
          [&](const Object& one, const std::string& kind) { add_source(result, one, kind, "text, document and search_result"); });
    }
    // Results follow their calls, also where a turn has words in front of them.
    const bool words_first = messages_.back().role == "user" && messages_.size() > 1 && (messages_.end() - 2)->role != "system";
    messages_.insert(messages_.end() - (words_first ? 1 : 0), std::move(result));
  }

  void add_of_assistant(const Object& block, const std::string& type) {
    Message& message = last("assistant");
    if (type == "redacted_thinking") return;  // encrypted for another server
    if (type == "thinking") {
      const std::string_view thought = written_text(block["thinking"]);
      message.reasoning += thought.substr(1, thought.size() - 2);
      return;
    }
    if (type != "tool_use") refuse_type(block, type, "text, thinking, redacted_thinking and tool_use");
    const Value input = block["input"];
    if (input && !input.is_object()) refuse_kind(input, "an object");
    calls_.insert(name_of(block["id"]));
    name_of(block["name"]);
    message.calls.push_back(fmt::format(R"({{"id":{},"type":"function","function":{{"name":{},"arguments":{}}}}})", block["id"].text,
                                        block["name"].text, input ? input.text : "{}"));
  }

  std::vector<Message> messages_;
  std::set<std::string> calls_;  ///< ids
};

// ---- tools and options ----

/// A tool as a function: its members in the order that templates of functions are written for, without those that concern the API alone.
std::string function_of(const Object& tool) {
  name_of(tool["name"]);
  std::string function = fmt::format(R"("name":{})", tool["name"].text);
  if (const Value description = tool["description"]) function += fmt::format(R"(,"description":{})", written_text(description));
  if (const Value schema = tool["input_schema"]) {
    if (!schema.is_object()) refuse_kind(schema, "an object");
    function += fmt::format(R"(,"parameters":{})", schema.text);
  }
  return fmt::format(R"({{"type":"function","function":{{{}}}}})", function);
}

bool may_call(const Value& choice) {
  if (!choice) return true;
  const std::string type = text_of(Object(choice)["type"]);
  if (type != "auto" && type != "none")
    refuse("tool_choice", "'tool_choice.type' has to be \"auto\" or \"none\": that a model must call a tool is not built");
  return type == "auto";
}

void read_tools(const Object& body, GenerationRequest& request) {
  const bool callable = may_call(body["tool_choice"]);
  const Value tools = body["tools"];
  if (!tools) return;
  ToolList list;
  for (const Value& item : items_of(tools)) {
    const Object tool(item);
    const Value type = tool["type"];
    !type || text_of(type) == "custom" ? list.add_function(function_of(tool)) : list.leave_out(text_of(type));
  }
  list.give_to(request, callable);
}

/// Whether the request says that the model is to think.
bool wants_thinking(const Value& given) {
  const Object thinking(given);
  const std::string type = text_of(thinking["type"]);
  if (type != "enabled" && type != "adaptive" && type != "disabled")
    refuse("thinking.type", "'thinking.type' is '{}'; possible are enabled, adaptive and disabled", shown(type));
  const Value budget = thinking["budget_tokens"];
  if (budget && budget.text.find_first_not_of("0123456789") != std::string_view::npos) refuse_kind(budget, "a whole number");
  return type != "disabled";
}

/// A field of the request counts, and not a variable of the same name in 'chat_template_kwargs'. Without either the model does not think,
/// as in Anthropic's API.
std::string read_template_options(const Object& body, bool continued, std::vector<std::pair<std::string, std::string>> options) {
  const Value own = body["chat_template_kwargs"];
  if (own && !own.is_object()) refuse_kind(own, "an object");
  const auto says = [&](const char* name) {
    return (own && Object(own)[name]) || std::ranges::any_of(options, [&](const auto& option) { return option.first == name; });
  };
  const Value thinking = body["thinking"];
  if (thinking || (std::ranges::none_of(thinking_variables, says) && !says("reasoning_effort"))) {
    const bool wanted = thinking && wants_thinking(thinking);
    for (const char* name : thinking_variables) options.emplace_back(name, wanted ? "true" : "false");
  }
  if (continued) options.emplace_back("continue_final_message", "true");
  if (const Value given = body["output_config"]) {
    const Object config(given);
    if (config["format"]) refuse("output_config.format", "'output_config.format' is not built: answers are free text");
    if (const Value effort = config["effort"]) options.emplace_back("reasoning_effort", written_text(effort));
  }
  return skipstone::json_object_with(own ? own.text : "{}", options);
}

}  // namespace

void read_request(std::string_view text, GenerationRequest& request) {
  const Object body(text);
  for (const char* name : {"output_format", "mcp_servers", "container"})
    if (const Value given = body[name]; given && !given.is_empty()) refuse(name, "'{}' is not built", name);
  Turns turns;
  if (const Value system = body["system"]) turns.add_system(system);
  const std::vector<Value> messages = items_of(body["messages"]);
  if (messages.empty()) refuse("messages", "'messages' has to be a list with at least one message");
  for (const Value& message : messages) turns.add(message);
  request.template_options = read_template_options(body, turns.end_with_begun_answer(), std::exchange(request.variables, {}));
  request.messages = turns.json();
  read_tools(body, request);
}

}  // namespace cli::serve::anthropic
