#include "chat/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "base/output_file.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "json/parse_json.h"

namespace cli::chat {
namespace {

using skipstone::Code;
using skipstone::Json;
using skipstone::SortedJson;

constexpr std::size_t largest_file = 64 << 20;  // bytes; more than any context

bool by_user(const Message& message) { return message.role == "user"; }

std::string read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(skipstone::platform::path_of(path), std::ios::binary);
  if (!file) skipstone::fail(Code::not_found, "{}: cannot be opened: {}", path, std::strerror(errno));
  std::string text;
  std::array<char, 1 << 16> block;
  while (file.read(block.data(), block.size()) || file.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > largest_file) skipstone::fail(Code::bad_file, "{}: is larger than 64 MiB; that is no conversation", path);
  }
  if (file.bad()) skipstone::fail(Code::io, "{}: cannot be read", path);
  return text;
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Conversation conversation(const SortedJson& document) const {
    Conversation conversation;
    const SortedJson* list = &document;
    if (document.is_object()) {
      const auto found = document.find("messages");
      if (found == document.end()) skipstone::fail(Code::bad_file, "{}: has no \"messages\"; it is no conversation", path_);
      list = &*found;
    }
    if (!list->is_array()) skipstone::fail(Code::bad_file, "{}: its \"messages\" are no list", path_);
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string at = fmt::format("messages[{}]", i);
      Message message = this->message((*list)[i], at);
      if (message.role == "system" || message.role == "developer") {
        if (i != 0) skipstone::fail(Code::bad_file, "{}: {}.role: a system message can only be the first", path_, at);
        conversation.set_system(message.content);
      } else {
        conversation.add(std::move(message));
      }
    }
    return conversation;
  }

 private:
  Message message(const SortedJson& entry, const std::string& at) const {
    if (!entry.is_object()) skipstone::fail(Code::bad_file, "{}: {} is no object", path_, at);
    Message message{.role = text(entry, "role", at)};
    static constexpr std::array roles = {"system", "developer", "user", "assistant", "tool"};
    if (std::ranges::find(roles, message.role) == roles.end()) {
      skipstone::fail(Code::bad_file, "{}: {}.role: there is no role '{}'", path_, at, message.role);
    }
    message.content = text(entry, "content", at);
    message.reasoning = text(entry, "reasoning_content", at);
    message.call_id = text(entry, "tool_call_id", at);
    const auto calls = entry.find("tool_calls");
    if (calls == entry.end() || calls->is_null()) return message;
    if (!calls->is_array()) skipstone::fail(Code::bad_file, "{}: {}.tool_calls is no list", path_, at);
    for (std::size_t i = 0; i < calls->size(); ++i) message.calls.push_back(call((*calls)[i], fmt::format("{}.tool_calls[{}]", at, i)));
    return message;
  }

  ToolCall call(const SortedJson& entry, const std::string& at) const {
    const auto function = entry.is_object() ? entry.find("function") : entry.end();
    if (!entry.is_object() || function == entry.end() || !function->is_object()) {
      skipstone::fail(Code::bad_file, "{}: {} has no \"function\"", path_, at);
    }
    return {text(*function, "name", at + ".function"), text(entry, "id", at), text(*function, "arguments", at + ".function")};
  }

  /// "" if the field is absent or null.
  std::string text(const SortedJson& object, const char* key, const std::string& at) const {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return {};
    if (!found->is_string()) skipstone::fail(Code::bad_file, "{}: {}.{} is no text", path_, at, key);
    return found->get<std::string>();
  }

  const std::string& path_;
};

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

void save_conversation(const Conversation& conversation, const std::string& model, const std::string& path) {
  const Json document = {{"format", "skipstone-chat"}, {"version", 1}, {"model", model}, {"messages", conversation.json()}};
  const std::string text = document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  skipstone::write_whole_file(path, std::as_bytes(std::span(text)));
}

Conversation load_conversation(const std::string& path) {
  const std::string text = read_file(path);
  return Reader(path).conversation(skipstone::parse_json<SortedJson>(text, path));
}

}  // namespace cli::chat
