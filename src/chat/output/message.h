// Assembles a whole answer from its events.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chat/output/event.h"

namespace skipstone::chat {

struct ToolCall {
  std::string name, id;
  std::string arguments;  ///< a JSON object
};

struct Message {
  std::string content, reasoning;
  std::vector<ToolCall> calls;
  std::vector<std::string> notes;
};

class MessageBuilder {
 public:
  void add(const Event& event);

  /// The message of the events so far. A call that is still open is not included.
  const Message& message() const { return message_; }

 private:
  Message message_;
  std::optional<ToolCall> open_;
  std::string open_raw_;  ///< raw text of the open call's events: content, should it break off
};

}  // namespace skipstone::chat
