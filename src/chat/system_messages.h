// Where system messages go in a template that cannot take all of them.
#pragma once

#include <string_view>
#include <vector>

#include "chat/chat_template.h"
#include "chat/jinja/value.h"

namespace skipstone::chat {

std::string_view role_of(const jinja::Value& message);
bool is_system(const jinja::Value& message);
/// The text of a message's content, of which parts are joined.
jinja::Text text_of(const jinja::Value& message);
/// The message with this text for its content.
jinja::Value with_text(const jinja::Value& message, jinja::Text text);
/// A message of a role and a text.
jinja::Value make_message(std::string_view role, jinja::Text text);

/// The messages with each system message (or developer message) where the template writes it. A second one at the start becomes a part of
/// the first; a late one goes in front of the next user message, or to the start where none follows. None is lost.
std::vector<jinja::Value> place_system_messages(const std::vector<jinja::Value>& messages, const Capabilities& can);

}  // namespace skipstone::chat
