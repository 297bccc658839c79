#include "chat/conversation.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cli::chat {
namespace {

using skipstone::Json;

bool by_user(const Message& message) { return message.role == "user"; }

}  // namespace

Json message_json(const Message& message) {
  Json json = {{"role", message.role}, {"content", message.content}};
  if (!message.reasoning.empty()) json["reasoning_content"] = message.reasoning;
  for (const ToolCall& call : message.calls) {
    json["tool_calls"].push_back(
        {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  if (!message.call_id.empty()) json["tool_call_id"] = message.call_id;
  return json;
}

std::size_t Conversation::exchanges() const { return static_cast<std::size_t>(std::ranges::count_if(messages_, by_user)); }

std::string Conversation::roll_back() {
  const auto last = std::find_if(messages_.rbegin(), messages_.rend(), by_user);
  if (last == messages_.rend()) return {};
  std::string said = std::move(last->content);
  messages_.erase(std::prev(last.base()), messages_.end());
  return said;
}

void Conversation::drop_first(std::size_t count) {
  std::size_t seen = 0;
  const auto keep = std::ranges::find_if(messages_, [&](const Message& message) { return by_user(message) && seen++ == count; });
  messages_.erase(messages_.begin(), keep);
}

const Message* Conversation::last_answer() const {
  const auto last = std::find_if(messages_.rbegin(), messages_.rend(), [](const Message& message) { return message.role == "assistant"; });
  return last == messages_.rend() ? nullptr : &*last;
}

Json Conversation::json() const {
  Json all = Json::array();
  if (!system_.empty()) all.push_back({{"role", "system"}, {"content", system_}});
  for (const Message& message : messages_) all.push_back(message_json(message));
  return all;
}

}  // namespace cli::chat
