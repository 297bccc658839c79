// A template and its capabilities, found by rendering small conversations and looking for marks in the output; the built-in templates.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/template.h"
#include "chat/messages.h"

namespace skipstone::chat {

struct Capabilities {
  bool system = true;         ///< writes system messages
  bool developer = false;     ///< writes messages of the role developer
  bool tools = false;         ///< writes the tools' definitions
  bool tool_calls = false;    ///< writes the calls of earlier answers
  bool reasoning = false;     ///< knows of reasoning
  bool text_content = true;   ///< takes content that is a string
  bool part_content = false;  ///< takes content that is a list of parts
  bool null_content = true;   ///< takes an answer of calls alone with the content none; else it is ""
  bool short_ids = false;     ///< takes ids of nine letters and digits alone (Mistral)
};

/// Immutable; safe to use from many threads.
class ChatTemplate {
 public:
  /// `bos`, `eos`: the tokens as they are written; "" where there are none. Throws invalid_argument with line and column.
  ChatTemplate(std::string source, std::string bos, std::string eos);

  const std::string& source() const { return source_; }
  const Capabilities& can() const { return can_; }
  /// The text that the template writes directly after an answer when another message follows: where turns end. Its own words only.
  const std::string& after_answer() const { return after_answer_; }

  /// Throws invalid_argument where the template raises.
  jinja::Text render(const Conversation& conversation) const;

 private:
  jinja::Text render_messages(std::vector<jinja::Value> messages, const Conversation& conversation) const;
  std::vector<jinja::Value> adapted(const Conversation& conversation) const;
  jinja::Value adapted_content(const jinja::Value& message) const;
  jinja::Value with_short_ids(const jinja::Value& message) const;
  bool writes(const char* messages, const char* tools, std::initializer_list<const char*> marks) const;
  void probe();
  void probe_content();
  void probe_calls();
  void find_end_of_answer();

  std::string source_, bos_, eos_;
  jinja::Template template_;
  Capabilities can_;
  std::string after_answer_;
};

// ---- templates for models that bring none, written from the published formats that models were trained on ----

struct BuiltinTemplate {
  const char* name;
  const char* source;                     ///< Jinja
  std::vector<std::string_view> tokens;   ///< special tokens that suggest it, all of them; none: it is not chosen by tokens
  std::vector<std::string> stop_strings;  ///< where turns end without a token
};

/// The templates in the order in which their tokens are looked for.
std::span<const BuiltinTemplate> builtin_templates();

/// Null for an unknown name.
const BuiltinTemplate* find_builtin(std::string_view name);

}  // namespace skipstone::chat
