// What was said, as data: messages in the form of OpenAI's chat completions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "json/json.h"

namespace cli::chat {

struct ToolCall {
  std::string name, id;
  std::string arguments;  ///< JSON
};

struct Message {
  std::string role;  ///< "user", "assistant"; from files also "tool"
  std::string content = {};
  std::string reasoning = {};
  std::vector<ToolCall> calls = {};
  std::string call_id = {};  ///< of a tool's result
};

class Conversation {
 public:
  const std::string& system() const { return system_; }
  void set_system(std::string text) { system_ = std::move(text); }

  const std::vector<Message>& messages() const { return messages_; }
  void add(Message message) { messages_.push_back(std::move(message)); }
  void clear() { messages_.clear(); }

  /// Exchanges: a user's message and all up to the next one.
  std::size_t exchanges() const;

  /// Takes the last exchange back; "" where there is none, else what the user said.
  std::string take_back();

  /// Forgets the first `count` exchanges, all where there are fewer.
  void drop_first(std::size_t count);

  /// The last message of the assistant; null where there is none.
  const Message* last_answer() const;

  /// As skipstone_chat_render() takes them.
  skipstone::Json json() const;

 private:
  std::string system_;
  std::vector<Message> messages_;
};

}  // namespace cli::chat
