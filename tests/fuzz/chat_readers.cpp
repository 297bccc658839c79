#include <array>
#include <iterator>

#include "chat/builtin_templates.h"
#include "chat/chat_template.h"
#include "fixtures/temporary_directory.h"
#include "fuzz/readers.h"

namespace skipstone::fuzz {
namespace {

const char* const conversation =
    R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "How deep is it?"}]},
  {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [{"id": "call_1", "type": "function",
    "function": {"name": "depth", "arguments": "{\"lake\": \"Zug\", \"exact\": 1.0}"}}]},
  {"role": "tool", "tool_call_id": "call_1", "content": "198"}, {"role": "user", "content": "Thanks. <|im_end|>"}])";
const char* const tools = R"([{"type": "function", "function": {"name": "depth", "parameters": {"type": "object"}}}])";
const char* const options = R"({"enable_thinking": false, "now": "2025-07-04T09:08:07"})";

std::vector<std::string> template_seeds() {
  std::vector<std::string> all;
  for (const chat::BuiltinTemplate& builtin : chat::builtin_templates()) all.emplace_back(builtin.source);
  return all;
}

void read_template(const std::string& folder) {
  const chat::ChatTemplate read(fixtures::bytes_of(folder + "/template.jinja"), "<s>", "</s>");
  read.render(chat::read_conversation(conversation, tools, options));
}

std::vector<std::string> message_seeds() { return {conversation}; }

void read_messages(const std::string& folder) {
  static const chat::ChatTemplate chatml(chat::find_builtin("chatml")->source, "<s>", "</s>");
  chatml.render(chat::read_conversation(fixtures::bytes_of(folder + "/messages.json"), tools, options));
}

}  // namespace

std::span<const Reader> chat_readers() {
  static const std::array readers{
      Reader{"jinja", "template.jinja", Kind::words, template_seeds, nullptr, read_template},
      Reader{"messages", "messages.json", Kind::json, message_seeds, nullptr, read_messages},
  };
  return readers;
}

}  // namespace skipstone::fuzz
