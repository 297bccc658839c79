// Tools in words, for templates that do not write them: the form of Hermes 2 Pro, which many models know.
#pragma once

#include <vector>

#include "chat/messages.h"
#include "chat/output/output_format.h"

namespace skipstone::chat {

/// What is to be written as text, since the template does not write it.
struct ToolText {
  bool definitions = false, calls = false, results = false;
  Tags call_list = {};  ///< around a list of calls, for a template that tells its own form and drops calls; none: each call is in tags
  bool any() const { return definitions || calls || results; }
};

/// The conversation's messages with the tools' definitions in its first system message, calls in the text of answers, and results as
/// messages of the user.
std::vector<jinja::Value> with_tool_text(const Conversation& conversation, const ToolText& wanted);

/// The messages with one call in each answer, and its result next: for templates that take no more.
std::vector<jinja::Value> with_single_calls(const std::vector<jinja::Value>& messages);

}  // namespace skipstone::chat
