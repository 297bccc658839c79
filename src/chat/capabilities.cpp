// Probing: a template may accept an input without writing it, so each probe looks for marks that no template contains.
#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"
#include "chat/chat_template.h"

namespace skipstone::chat {
namespace {

constexpr const char* tool = R"([{"type": "function", "function": {"name": "skTOOLsk", "description": "skDESCsk",
  "parameters": {"type": "object", "properties": {"skARGsk": {"type": "string", "description": "skWHATsk"}}, "required": ["skARGsk"]}}}])";

/// An answer without text that calls a tool, with the result.
std::string call_and_result(std::string_view id) {
  return fmt::format(R"([{{"role": "user", "content": "skUSERsk"}}, {{"role": "assistant", "tool_calls": [{{"id": "{0}", "type": "function",
    "function": {{"name": "skTOOLsk", "arguments": {{"skARGsk": "skVALUEsk"}}}}}}]}},
    {{"role": "tool", "tool_call_id": "{0}", "content": "skRESULTsk"}}])",
                     id);
}

bool holds(std::string_view text, std::string_view mark) { return text.find(mark) != std::string_view::npos; }

}  // namespace

/// Whether the conversation renders, and the text contains all marks.
bool ChatTemplate::writes(const char* messages, const char* tools, std::initializer_list<const char*> marks) const {
  try {
    const jinja::Text text = render(read_conversation(messages, tools, R"({"now": "2025-01-01T00:00:00"})"));
    return std::all_of(marks.begin(), marks.end(), [&](const char* mark) { return holds(text.bytes(), mark); });
  } catch (const Error&) {
    return false;
  }
}

void ChatTemplate::probe_content() {
  const char* const plain = R"([{"role": "user", "content": "skUSERsk"}])";
  const char* const parts = R"([{"role": "user", "content": [{"type": "text", "text": "skPARTsk"}]}])";
  can_.text_content = writes(plain, "", {"skUSERsk"});
  can_.part_content = true;
  // A template that prints a list as it is shows the keys as well.
  can_.part_content =
      writes(parts, "", {"skPARTsk"}) && !writes(parts, "", {"skPARTsk", "'type'"}) && !writes(parts, "", {"skPARTsk", "\"type\""});
  if (!can_.text_content && !can_.part_content) can_.text_content = true;  // the template needs another form of content
}

void ChatTemplate::probe_calls() {
  can_.tools = writes(R"([{"role": "user", "content": "skUSERsk"}])", tool, {"skTOOLsk"});
  // Tries one form after the other until the template takes it.
  for (const bool short_ids : {false, true}) {
    for (const bool null_content : {true, false}) {
      can_.short_ids = short_ids;
      can_.null_content = null_content;
      const std::string messages = call_and_result("call_0");
      can_.tool_calls = writes(messages.c_str(), tool, {"skTOOLsk", "skVALUEsk"}) && !writes(messages.c_str(), tool, {"skTOOLsk", "None"});
      if (can_.tool_calls) return;
    }
  }
  can_.short_ids = false;
  can_.null_content = false;
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

void ChatTemplate::probe() {
  can_.developer = true;
  probe_content();
  const char* const system = R"([{"role": "system", "content": "skSYSTEMsk"}, {"role": "user", "content": "skUSERsk"}])";
  const char* const developer = R"([{"role": "developer", "content": "skSYSTEMsk"}, {"role": "user", "content": "skUSERsk"}])";
  can_.system = writes(system, "", {"skSYSTEMsk", "skUSERsk"});
  can_.developer = writes(developer, "", {"skSYSTEMsk", "skUSERsk"});
  probe_calls();
  can_.reasoning = holds(source_, "enable_thinking") || holds(source_, "reasoning") || holds(source_, "think");
  find_end_of_answer();
}

}  // namespace skipstone::chat
