// Probing: a template may accept an input without writing it, so each probe looks for marks that no template contains.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/status.h"
#include "chat/chat_template.h"

namespace skipstone::chat {
namespace {

constexpr const char* tool = R"([{"type": "function", "function": {"name": "skTOOLsk", "description": "skDESCsk",
  "parameters": {"type": "object", "properties": {"skARGsk": {"type": "string", "description": "skWHATsk"}}, "required": ["skARGsk"]}}}])";

constexpr const char* tool_without_description = R"([{"type": "function", "function": {"name": "skTOOLsk", "parameters":
  {"type": "object", "properties": {"skARGsk": {"type": "string", "description": "skWHATsk"}}, "required": ["skARGsk"]}}}])";
constexpr const char* tool_without_parameters = R"([{"type": "function", "function": {"name": "skTOOLsk", "description": "skDESCsk"}}])";

constexpr std::string_view probe_user = R"({"role": "user", "content": "skUSERsk"})";
constexpr std::string_view probe_answer = R"({"role": "assistant", "content": "skANSWERsk"})";

std::string probe_message(std::string_view role, std::string_view content) {
  return fmt::format(R"({{"role": "{}", "content": {}}})", role, content);
}

std::string probe_list(std::initializer_list<std::string_view> messages) { return fmt::format("[{}]", fmt::join(messages, ", ")); }

/// An answer without text that calls a tool.
std::string probe_call(std::string_view id) {
  return fmt::format(R"({{"role": "assistant", "tool_calls": [{{"id": "{}", "type": "function",
    "function": {{"name": "skTOOLsk", "arguments": {{"skARGsk": "skVALUEsk"}}}}}}]}})",
                     id);
}

/// An answer that calls it twice.
constexpr std::string_view probe_calls_twice = R"({"role": "assistant", "tool_calls": [
  {"id": "call_0", "type": "function", "function": {"name": "skTOOLsk", "arguments": {"skARGsk": "skVALUEsk"}}},
  {"id": "call_1", "type": "function", "function": {"name": "skTOOLsk", "arguments": {"skARGsk": "skOTHERsk"}}}]})";

std::string probe_result(std::string_view id, std::string_view content) {
  return fmt::format(R"({{"role": "tool", "tool_call_id": "{}", "content": {}}})", id, content);
}

/// A conversation in which a message of the role has this content.
std::string conversation_with(RoleClass role, std::string_view content) {
  switch (role) {
    case RoleClass::system:
      return probe_list({probe_message("system", content), probe_user});
    case RoleClass::user:
      return probe_list({probe_message("user", content)});
    case RoleClass::assistant:
      return probe_list({probe_user, probe_message("assistant", content), probe_user});
    case RoleClass::tool:
      break;
  }
  return probe_list({probe_user, probe_call("call_0"), probe_result("call_0", content)});
}

bool holds(std::string_view text, std::string_view mark) { return text.find(mark) != std::string_view::npos; }

}  // namespace

std::size_t role_class(std::string_view role) {
  const RoleClass all = role == "user"        ? RoleClass::user
                        : role == "assistant" ? RoleClass::assistant
                        : role == "tool"      ? RoleClass::tool
                                              : RoleClass::system;
  return static_cast<std::size_t>(all);
}

/// Whether the conversation renders, and the text contains all marks and nothing unwanted.
bool ChatTemplate::writes(const std::string& messages, std::initializer_list<const char*> marks, const char* tools,
                          std::initializer_list<const char*> unwanted) const {
  try {
    const jinja::Text text = render(read_conversation(messages, tools, R"({"now": "2025-01-01T00:00:00"})"));
    const auto in_text = [&](const char* mark) { return holds(text.bytes(), mark); };
    return std::all_of(marks.begin(), marks.end(), in_text) && std::none_of(unwanted.begin(), unwanted.end(), in_text);
  } catch (const Error&) {
    return false;
  }
}

/// Whether the template writes such a role at all; where it does not, content has the form of users' messages.
bool ChatTemplate::probe_content(RoleClass role) {
  const char* const tools = role == RoleClass::tool && can_.tools ? tool : "";
  ContentForms& forms = can_.content[static_cast<std::size_t>(role)];
  forms = {true, true};
  // A template that prints a list as it is shows the keys as well.
  const ContentForms found = {
      writes(conversation_with(role, R"("skTEXTsk")"), {"skTEXTsk"}, tools),
      writes(conversation_with(role, R"([{"type": "text", "text": "skPARTsk"}, {"type": "text", "text": "skLASTsk"}])"),
             {"skPARTsk", "skLASTsk"}, tools, {"'type': 'text'", "\"type\": \"text\""}),
  };
  const ContentForms otherwise = role == RoleClass::user ? ContentForms{true, false} : can_.content[role_class("user")];
  const bool any = found.text || found.parts;
  forms = any ? found : otherwise;
  return any;
}

void ChatTemplate::probe_system() {
  const auto written = [&](std::string_view role) {
    return writes(probe_list({probe_message(role, R"("skSYSTEMsk")"), probe_user}), {"skSYSTEMsk", "skUSERsk"});
  };
  can_.system = written("system");
  can_.developer = can_.system && written("developer");
  if (!can_.system) return;
  for (const char* first : {"system", "developer"}) {
    for (const char* other : {"system", "developer"}) {
      if (!can_.developer && (first != std::string_view("system") || other != std::string_view("system"))) continue;
      const std::string one = probe_message(first, R"("skSYSTEMsk")"), two = probe_message(other, R"("skRULEsk")");
      can_.second_system = can_.second_system && writes(probe_list({one, two, probe_user}), {"skSYSTEMsk", "skRULEsk", "skUSERsk"});
      can_.late_system = can_.late_system &&
                         writes(probe_list({one, probe_user, probe_answer, two, probe_user}), {"skSYSTEMsk", "skRULEsk", "skUSERsk"}) &&
                         writes(probe_list({probe_user, probe_answer, two, probe_user}), {"skRULEsk"});
    }
  }
}

void ChatTemplate::probe_calls() {
  const auto takes = [&](const char* tools) {
    return writes(probe_list({probe_user}), {"skTOOLsk"}, tools) ||
           writes(conversation_with(RoleClass::system, R"("skSYSTEMsk")"), {"skTOOLsk"}, tools);
  };
  const bool tools = takes(tool);
  can_.tool_description = tools && !takes(tool_without_description);
  can_.tool_parameters = tools && !takes(tool_without_parameters);
  const std::string messages = conversation_with(RoleClass::tool, R"("skRESULTsk")");
  // Tries one form after the other until the template takes it.
  const auto takes_calls = [&] {
    for (const bool short_ids : {false, true}) {
      for (const bool null_content : {true, false}) {
        can_.short_ids = short_ids;
        can_.null_content = null_content;
        if (writes(messages, {"skTOOLsk", "skVALUEsk"}, tool, {"None"})) return true;
      }
    }
    can_.short_ids = can_.null_content = false;
    return false;
  };
  const bool calls = takes_calls();
  // Without the tools, since their definitions have the name too.
  can_.call_text = !calls && !writes(messages, {"skTOOLsk"}) && !writes(messages, {"skVALUEsk"}, tool);
  const std::string twice =
      probe_list({probe_user, probe_calls_twice, probe_result("call_0", R"("skRESULTsk")"), probe_result("call_1", "\"\"")});
  can_.single_calls = calls && !writes(twice, {"skVALUEsk", "skOTHERsk"}, tool);
  can_.tool_results = writes(messages, {"skRESULTsk"}, tool);
  can_.tool_calls = calls;
  can_.tools = tools;
}

void ChatTemplate::find_end_of_answer() {
  const char* const messages = R"([{"role": "user", "content": "skUSERsk"}, {"role": "assistant", "content": "skANSWERsk"},
    {"role": "user", "content": "skNEXTsk"}])";
  try {
    const jinja::Text text = render(read_conversation(messages, "", R"({"now": "2025-01-01T00:00:00"})"));
    constexpr std::string_view mark = "skANSWERsk";
    const std::size_t answer = text.bytes().find(mark);
    const std::size_t next = text.bytes().find("skNEXTsk");
    if (answer == std::string_view::npos || next == std::string_view::npos || next < answer) return;
    after_answer_ = text.bytes().substr(answer + mark.size(), next - answer - mark.size());
  } catch (const Error&) {
    return;  // the template takes no such conversation, so nothing is known
  }
}

/// While a capability is not known, messages are left as they are.
void ChatTemplate::probe() {
  can_.developer = true;
  can_.reasoning = holds(source_, "enable_thinking") || holds(source_, "reasoning") || holds(source_, "think");
  can_.error_results = holds(source_, "is_error");
  can_.thinking_key = !holds(source_, "reasoning_content") && (holds(source_, "message.thinking") || holds(source_, "message['thinking']"));
  const bool known = probe_content(RoleClass::user);
  can_.content.fill(can_.content[role_class("user")]);
  if (known) probe_content(RoleClass::system);
  if (known) probe_content(RoleClass::assistant);
  probe_system();
  probe_calls();
  if (known) {
    probe_content(RoleClass::tool);
  } else {  // it needs variables that only its users know, or writes no messages: nothing is known of tools
    can_.tools = can_.tool_results = true;
    can_.call_text = false;
  }
  find_end_of_answer();
}

}  // namespace skipstone::chat
