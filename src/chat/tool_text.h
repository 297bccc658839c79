// Tools in words, for templates that do not write them: in the form that a template has for calls, else in that of Hermes 2 Pro, which many
// models know.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "chat/messages.h"
#include "chat/output/output_format.h"

namespace skipstone::chat {

/// What is to be written as text, since the template does not write it.
struct ToolText {
  const OutputFormat& format;  ///< of calls
  bool definitions = false, calls = false, results = false;
  bool any() const { return definitions || calls || results; }
};

/// The format of calls in words for a template.
const OutputFormat& tool_text_format(std::string_view chat_template);

/// The messages with the tools' definitions in the first system message, calls in the text of answers, and results as messages of the user.
/// `bytes`: of the conversation.
std::vector<jinja::Value> with_tool_text(const std::vector<jinja::Value>& messages, const ToolText& wanted, const jinja::Value& tools,
                                         std::size_t bytes);

/// The messages with a word in front of each result that says that its call failed, where the member `is_error` does.
std::vector<jinja::Value> with_error_text(std::vector<jinja::Value> messages);

/// The messages with one call in each answer, and its result next: for templates that take no more.
std::vector<jinja::Value> with_single_calls(const std::vector<jinja::Value>& messages);

}  // namespace skipstone::chat
