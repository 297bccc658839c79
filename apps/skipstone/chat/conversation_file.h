// Conversations in files: {"format": "skipstone-chat", "version": 1, "model": name, "messages": [...]}.
#pragma once

#include <string>

#include "chat/conversation.h"

namespace cli::chat {

/// The file stands under its name only when it is whole. Throws skipstone::Error where it cannot be written.
void save_conversation(const Conversation& conversation, const std::string& model, const std::string& path);

/// Also of a file that is a bare list of messages. Throws skipstone::Error with the path of the field for what is no conversation.
Conversation load_conversation(const std::string& path);

}  // namespace cli::chat
