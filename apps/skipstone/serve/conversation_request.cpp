#include "serve/conversation_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "json/json.h"
#include "json/json_parts.h"
#include "serve/api_error.h"
#include "serve/generation_request.h"
#include "serve/json_text.h"
#include "serve/tool_list.h"

namespace cli::serve {

using skipstone::Json;
using skipstone::json_member;
using skipstone::JsonMember;
using skipstone::shortened;
using skipstone::SortedJson;

namespace {

// ---- /v1/responses ----

constexpr std::array<std::string_view, 4> roles = {"system", "developer", "user", "assistant"};

/// A type of a part, and its key that holds a text.
struct PartType {
  std::string_view type;
  const char* key;
};
constexpr PartType message_parts[] = {{"input_text", "text"}, {"output_text", "text"}, {"text", "text"}, {"refusal", "refusal"}};
constexpr PartType reasoning_parts[] = {{"reasoning_text", "text"}, {"summary_text", "text"}, {"text", "text"}};

/// An item of 'input', its place for messages, and its index.
struct Item {
  const SortedJson& value;
  std::vector<JsonMember> written;
  std::string place;
  std::uint32_t index = 0;

  /// A member that is not null, or null.
  const SortedJson* find(const char* key) const {
    const auto found = value.find(key);
    return found == value.end() || found->is_null() ? nullptr : &*found;
  }
  std::string text(const char* key, std::string otherwise) const {
    const SortedJson* found = find(key);
    if (found == nullptr) return otherwise;
    if (!found->is_string()) refuse("input", "{}.{}: has to be a text, not {}", place, key, name_of(*found));
    return found->get<std::string>();
  }
};

const std::string& text_of_part(const SortedJson& part, std::span<const PartType> types, const std::string& place) {
  if (!part.is_object()) refuse("input", "{}: has to be an object, not {}", place, name_of(part));
  const auto type = part.find("type");
  if (type == part.end() || !type->is_string()) refuse("input", "{}.type: is missing", place);
  const auto known = std::ranges::find(types, type->get_ref<const std::string&>(), &PartType::type);
  if (known == types.end())
    refuse("input", "{}.type: is '{}', which is no part of text; others are not built", place,
           shortened(type->get_ref<const std::string&>(), 40));
  const auto text = part.find(known->key);
  if (text == part.end() || !text->is_string()) refuse("input", "{}.{}: has to be a text", place, known->key);
  return text->get_ref<const std::string&>();
}

/// A text or a list of parts, as it is written; an empty text where it is absent.
std::string_view content_of(const Item& item, const char* key) {
  const SortedJson* content = item.find(key);
  if (content == nullptr) return "\"\"";
  const std::string place = fmt::format("{}.{}", item.place, key);
  if (!content->is_string() && !content->is_array())
    refuse("input", "{}: has to be a text or a list of parts, not {}", place, name_of(*content));
  if (content->is_array()) {
    for (std::size_t i = 0; i < content->size(); ++i) text_of_part((*content)[i], message_parts, fmt::format("{}[{}]", place, i));
  }
  return json_member(item.written, key);
}

/// The texts of a list of parts of reasoning.
std::string reasoning_text(const Item& item, const char* key) {
  const SortedJson* parts = item.find(key);
  if (parts == nullptr) return {};
  if (!parts->is_array()) refuse("input", "{}.{}: has to be a list, not {}", item.place, key, name_of(*parts));
  std::string text;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const std::string& part = text_of_part((*parts)[i], reasoning_parts, fmt::format("{}.{}[{}]", item.place, key, i));
    if (!part.empty()) text.append(text.empty() ? "" : "\n\n").append(part);
  }
  return text;
}

/// Text of the parts of `content`, which are separated by commas; a text is one part.
std::string parts_of(std::string_view content) {
  if (content.starts_with('"')) return fmt::format(R"({{"type":"text","text":{}}})", content);
  return fmt::format("{}", fmt::join(skipstone::json_items(content), ","));
}

class Conversation {
 public:
  explicit Conversation(Places& places) : places_(places) {}

  void add_instructions(std::string_view text) { push(fmt::format(R"({{"role":"system","content":{}}})", text)); }

  void add(const Item& item) {
    const std::string type = item.text("type", "message");
    const auto known = std::ranges::find(kinds, type, &Kind::type);
    if (known == kinds.end()) refuse("input", "{}.type: is '{}'; items of this type are not built", item.place, shortened(type, 40));
    (this->*known->add)(item);
  }

  std::string take() {
    end_turn();
    return "[" + std::exchange(messages_, {}) + "]";
  }

 private:
  /// What the items of one turn of the assistant are about.
  struct Turn {
    std::string reasoning;
    std::vector<std::string> contents, calls;
    std::vector<std::uint32_t> call_items;  ///< of `calls`
    bool open = false, ends_with_text = false;
  };
  struct Kind {
    std::string_view type;
    void (Conversation::*add)(const Item&);
  };
  static const std::array<Kind, 4> kinds;

  void push(const std::string& message) {
    messages_.append(messages_.empty() ? "" : ",").append(message);
    places_.first_calls.push_back(static_cast<std::uint32_t>(places_.calls.size()));
  }

  Turn& turn() {
    turn_.open = true;
    turn_.ends_with_text = false;
    return turn_;
  }

  void end_turn() {
    if (!turn_.open) return;
    const Turn ended = std::exchange(turn_, {});
    std::string message = R"({"role":"assistant")";
    if (!ended.reasoning.empty()) message += fmt::format(R"(,"reasoning_content":{})", json_text(Json(ended.reasoning)));
    if (ended.contents.size() == 1) {
      message += fmt::format(R"(,"content":{})", ended.contents.front());
    } else if (!ended.contents.empty()) {
      std::vector<std::string> parts;
      for (const std::string& content : ended.contents) parts.push_back(parts_of(content));
      std::erase(parts, "");
      message += fmt::format(R"(,"content":[{}])", fmt::join(parts, ","));
    }
    if (!ended.calls.empty()) message += fmt::format(R"(,"tool_calls":[{}])", fmt::join(ended.calls, ","));
    push(message + "}");
    places_.calls.insert(places_.calls.end(), ended.call_items.begin(), ended.call_items.end());
  }

  void add_message(const Item& item) {
    const std::string role = item.text("role", "user");
    if (std::ranges::find(roles, role) == roles.end())
      refuse("input", "{}.role: is '{}', which is none of {}", item.place, shortened(role, 40), fmt::join(roles, ", "));
    const std::string_view content = content_of(item, "content");
    if (role != "assistant") {
      end_turn();
      return push(fmt::format(R"({{"role":"{}","content":{}}})", role, content));
    }
    if (turn_.ends_with_text) end_turn();  // two messages in a row are two turns
    turn().contents.emplace_back(content);
    turn_.ends_with_text = true;
  }

  void add_reasoning(const Item& item) {
    std::string text = reasoning_text(item, "content");
    if (text.empty()) text = reasoning_text(item, "summary");
    if (text.empty()) return;  // encrypted for another server, or none
    std::string& all = turn().reasoning;
    all.append(all.empty() ? "" : "\n\n").append(text);
  }

  void add_call(const Item& item) {
    const std::string id = item.text("call_id", "");
    ids_.insert(id);
    std::string_view arguments = json_member(item.written, "arguments");
    if (arguments.empty()) arguments = "\"\"";
    if (const std::string name = item.text("name", ""); name.empty()) refuse("input", "{}.name: is missing", item.place);
    turn().calls.push_back(fmt::format(R"({{"id":{},"type":"function","function":{{"name":{},"arguments":{}}}}})", json_text(Json(id)),
                                       json_member(item.written, "name"), arguments));
    turn_.call_items.push_back(item.index);
  }

  void add_result(const Item& item) {
    const std::string id = item.text("call_id", "");
    if (!ids_.contains(id)) refuse("input", "{}.call_id: is '{}', and no call before it has that id", item.place, shortened(id, 40));
    end_turn();
    push(fmt::format(R"({{"role":"tool","tool_call_id":{},"content":{}}})", json_text(Json(id)), content_of(item, "output")));
  }

  Places& places_;
  std::string messages_;  ///< separated by commas
  Turn turn_;
  std::set<std::string> ids_;  ///< of calls
};

const std::array<Conversation::Kind, 4> Conversation::kinds = {{{"message", &Conversation::add_message},
                                                                {"reasoning", &Conversation::add_reasoning},
                                                                {"function_call", &Conversation::add_call},
                                                                {"function_call_output", &Conversation::add_result}}};

/// In the form of chat completions.
std::string function_of(std::string_view tool) {
  std::string members;
  for (const auto& [key, value] : skipstone::json_members(tool)) {
    if (key == "type" || key == "strict") continue;
    members.append(members.empty() ? "" : ",").append(json_text(Json(key))).append(":").append(value);
  }
  return fmt::format(R"({{"type":"function","function":{{{}}}}})", members);
}

/// The messages of 'input': the items of a turn (reasoning, text, calls) are one message of the assistant. `written`: the JSON text of
/// `input`; `instructions`: a JSON string, or "". Throws ApiError (400) with the item's place for what cannot be taken.
std::string messages_of_input(const SortedJson& input, std::string_view written, std::string_view instructions, Places& places) {
  Conversation conversation(places);
  if (!instructions.empty()) conversation.add_instructions(instructions);
  if (input.is_string()) {
    const SortedJson message = {{"role", "user"}, {"content", input}};
    conversation.add({message, {{"content", written}}, "input"});
    return conversation.take();
  }
  if (!input.is_array() || input.empty()) refuse("input", "'input' has to be a text, or a list with at least one item");
  const std::vector<std::string_view> items = skipstone::json_items(written);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string place = fmt::format("input[{}]", i);
    if (!input[i].is_object()) refuse("input", "{}: has to be an object, not {}", place, name_of(input[i]));
    conversation.add({input[i], skipstone::json_members(items[i]), place, static_cast<std::uint32_t>(i)});
  }
  return conversation.take();
}

/// The functions among 'tools'. Throws ApiError (400).
ToolList functions_of_tools(const SortedJson& tools, std::string_view written) {
  const std::vector<std::string_view> items = skipstone::json_items(written);
  ToolList list;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const SortedJson type = tools[i].is_object() ? tools[i].value("type", SortedJson()) : SortedJson();
    if (!type.is_string()) refuse("tools", "tools[{}]: has to be an object with a type", i);
    type == "function" ? list.add_function(function_of(items[i])) : list.leave_out(type.get_ref<const std::string&>());
  }
  return list;
}

/// Checks the types of the tools of chat completions. Throws ApiError (400).
void require_functions(const SortedJson& tools) {
  for (std::size_t i = 0; i < tools.size(); ++i) {
    if (!tools[i].is_object() || tools[i].value("type", SortedJson()) != "function")
      refuse("tools", "tools[{}]: has to be an object of the type 'function'", i);
  }
}

// ---- both forms ----

/// The members of the body that reach the template, as the client wrote them.
class WrittenBody {
 public:
  explicit WrittenBody(std::string_view body) : members_(skipstone::json_members(body)) {}
  /// "" where it is absent or null.
  std::string_view operator[](std::string_view name) const { return skipstone::json_member(members_, name); }

 private:
  std::vector<skipstone::JsonMember> members_;
};

/// Reads tools in the form of chat completions, and whether the model may call them.
void read_tools(const SortedJson& body, const WrittenBody& written, GenerationRequest& request) {
  const auto choice = body.find("tool_choice");
  const bool given = choice != body.end() && !choice->is_null();
  if (given && !(choice->is_string() && (*choice == "auto" || *choice == "none"))) {
    refuse("tool_choice", "'tool_choice' has to be \"auto\" or \"none\": that a model must call a tool is not built");
  }
  const auto tools = body.find("tools");
  if (tools == body.end() || tools->is_null()) return;
  if (!tools->is_array()) refuse("tools", "'tools' has to be a list, not {}", name_of(*tools));
  const bool callable = !given || *choice == "auto";
  if (request.form == Form::responses) return functions_of_tools(*tools, written["tools"]).give_to(request, callable);
  require_functions(*tools);
  request.set_tools(tools->empty() ? "" : std::string(written["tools"]), callable);
}

/// A field of the request counts, and not a variable of the same name in 'chat_template_kwargs'.
void read_template_options(const SortedJson& body, const WrittenBody& written, GenerationRequest& request) {
  const auto own = body.find("chat_template_kwargs");
  const auto is_true = [&](const char* name) {
    const SortedJson value = body.value(name, SortedJson());
    return (value.is_null() && own != body.end() && own->is_object() ? own->value(name, SortedJson()) : value) == true;
  };
  if (is_true("continue_final_message") && is_true("add_generation_prompt"))
    refuse("continue_final_message", "'continue_final_message' and 'add_generation_prompt' are both true: one excludes the other");
  if (const std::string_view documents = written["documents"]; !documents.empty()) request.variables.emplace_back("documents", documents);
  const std::string_view given = written["chat_template_kwargs"];
  if (given.empty() && request.variables.empty()) return;
  request.template_options = skipstone::json_object_with(given.empty() ? "{}" : given, std::exchange(request.variables, {}));
}

}  // namespace

void read_chat(const SortedJson& body, std::string_view text, GenerationRequest& request) {
  const WrittenBody written(text);
  const auto messages = body.find("messages");
  if (messages == body.end()) refuse("messages", "'messages' is missing");
  if (!messages->is_array() || messages->empty()) refuse("messages", "'messages' has to be a list with at least one message");
  request.messages = written["messages"];
  read_tools(body, written, request);
  read_template_options(body, written, request);
}

void read_responses(const SortedJson& body, std::string_view text, GenerationRequest& request) {
  const WrittenBody written(text);
  const auto input = body.find("input");
  if (input == body.end()) refuse("input", "'input' is missing");
  const auto instructions = body.find("instructions");
  if (instructions != body.end() && !instructions->is_null() && !instructions->is_string())
    refuse("instructions", "'instructions' has to be a text, not {}", name_of(*instructions));
  request.messages = messages_of_input(*input, written["input"], written["instructions"], request.places);
  read_tools(body, written, request);
  read_template_options(body, written, request);
  SortedJson repeated = SortedJson::object();
  for (const char* name : {"instructions", "metadata", "tools", "tool_choice", "temperature", "top_p", "max_output_tokens", "reasoning"})
    repeated[name] = body.value(name, SortedJson());
  if (repeated["tools"].is_null()) repeated["tools"] = SortedJson::array();
  if (repeated["tool_choice"].is_null()) repeated["tool_choice"] = "auto";
  if (repeated["metadata"].is_null()) repeated["metadata"] = SortedJson::object();
  request.echo_fields = json_text(repeated);
}

}  // namespace cli::serve
