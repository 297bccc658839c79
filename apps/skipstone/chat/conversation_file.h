// Conversations in files: {"format": "skipstone-chat", "version": 1, "model": name, "messages": [...]}.
#pragma once

#include <string>

#include "chat/conversation.h"

namespace cli::chat {

/// The file gets its name only when it is complete. Throws skipstone::Error if it cannot be written.
void save_conversation(const Conversation& conversation, const std::string& model, const std::string& path);

/// Also accepts a bare list of messages. Throws skipstone::Error with the path of the wrong field if the file is no conversation.
Conversation load_conversation(const std::string& path);

}  // namespace cli::chat
