// The prompt of a conversation, rendered and tokenised once for all that need it: counting, generating, and parsing the answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "chat/conversation.h"
#include "json/json.h"

namespace cli::chat {

struct Prompt {
  std::vector<std::int32_t> tokens;
  std::string end;  ///< of its text: enough for any tag
};

/// `document`: skipstone_chat_show()'s.
inline Prompt read_prompt(const std::string& document) {
  constexpr std::size_t end_bytes = 256;
  const auto shown = skipstone::SortedJson::parse(document);
  const auto& text = shown.at("text").get_ref<const std::string&>();
  std::size_t from = text.size() - std::min(text.size(), end_bytes);
  while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80) ++from;
  return {shown.at("tokens").get<std::vector<std::int32_t>>(), text.substr(from)};
}

class ConversationPrompt {
 public:
  /// `show`: from messages to the document of skipstone_chat_show().
  explicit ConversationPrompt(std::function<std::string(const std::string& messages)> show) : show_(std::move(show)) {}

  /// Valid until the next call with another conversation.
  const Prompt& of(const Conversation& conversation) {
    std::string messages = conversation.json().dump();
    if (messages != messages_) {
      prompt_ = read_prompt(show_(messages));
      messages_ = std::move(messages);
    }
    return prompt_;
  }

  /// The same for the last use of this rendering: a template may write the time, so that a later answer needs another.
  Prompt take(const Conversation& conversation) {
    of(conversation);
    messages_.clear();
    return std::move(prompt_);
  }

 private:
  std::function<std::string(const std::string&)> show_;
  std::string messages_;  ///< of `prompt_`; "" where there is none
  Prompt prompt_;
};

}  // namespace cli::chat
