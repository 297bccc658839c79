// A conversation's messages, in the form of OpenAI's chat completions, and in files.
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

/// In the form of OpenAI's chat completions.
skipstone::Json message_json(const Message& message);

class Conversation {
 public:
  const std::string& system() const { return system_; }
  void set_system(std::string text) { system_ = std::move(text); }

  const std::vector<Message>& messages() const { return messages_; }
  void add(Message message) { messages_.push_back(std::move(message)); }
  void clear() { messages_.clear(); }

  /// The number of exchanges: a user's message and all messages up to the next one.
  std::size_t exchanges() const;

  /// Removes the last exchange and returns its user message; "" if there is none.
  std::string roll_back();

  /// Removes the first `count` exchanges, all if there are fewer.
  void drop_first(std::size_t count);

  /// The last message of the assistant; null if there is none.
  const Message* last_answer() const;

  /// The messages as input of skipstone_chat_render().
  skipstone::Json json() const;

 private:
  std::string system_;
  std::vector<Message> messages_;
};

/// Writes {"format": "skipstone-chat", "version": 1, "model": name, "messages": [...]}. The file gets its name only when it is complete.
/// Throws skipstone::Error if it cannot be written.
void save_conversation(const Conversation& conversation, const std::string& model, const std::string& path);

/// Also accepts a bare list of messages. Throws skipstone::Error with the path of the wrong field if the file is no conversation.
Conversation load_conversation(const std::string& path);

}  // namespace cli::chat
