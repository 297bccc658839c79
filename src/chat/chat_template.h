// A template and its capabilities, found by rendering small conversations and looking for marks in the output; the built-in templates.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/template.h"
#include "chat/messages.h"

namespace skipstone::chat {

/// The forms of a message's content that a template writes.
struct ContentForms {
  bool text = true;    ///< a string
  bool parts = false;  ///< a list of parts
};

/// Messages that a template may treat differently.
enum class RoleClass { system, user, assistant, tool };
/// The index of a role's class; a developer's messages are system messages.
std::size_t role_class(std::string_view role);

struct Capabilities {
  bool system = true;                        ///< writes system messages
  bool developer = false;                    ///< writes messages of the role developer
  bool second_system = true;                 ///< writes both of two system messages at the start
  bool late_system = true;                   ///< writes system messages that follow others
  bool tools = true;                         ///< writes the tools' definitions
  bool tool_calls = true;                    ///< writes the calls of earlier answers
  bool tool_description = false;             ///< fails on a tool without a description
  bool tool_parameters = false;              ///< fails on a tool without parameters
  bool call_text = false;                    ///< writes nothing of the calls of earlier answers: they go into their texts
  bool single_calls = false;                 ///< fails on two calls in an answer, or writes one of them alone
  bool tool_results = true;                  ///< writes the results of calls
  bool error_results = false;                ///< reads whether a call failed, `is_error`
  bool reasoning = false;                    ///< knows of reasoning
  bool thinking_key = false;                 ///< reads an answer's reasoning from the key "thinking"
  bool null_content = true;                  ///< takes an answer of calls alone with the content none; else it is ""
  bool short_ids = false;                    ///< takes ids of nine letters and digits alone (Mistral)
  std::array<ContentForms, 4> content = {};  ///< of each RoleClass
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

  /// Whether the conversation's tools are written in words, since the template does not write them.
  bool needs_tool_text(const Conversation& conversation) const;
  /// Throws invalid_argument where the template raises.
  jinja::Text render(const Conversation& conversation) const;

 private:
  jinja::Text render_messages(std::vector<jinja::Value> messages, const Conversation& conversation) const;
  std::vector<jinja::Value> adapted(const Conversation& conversation) const;
  jinja::Value adapted_content(const jinja::Value& message) const;
  jinja::Value with_short_ids(const jinja::Value& message) const;
  jinja::Value with_thinking(const jinja::Value& message) const;
  jinja::Value adapted_tools(const jinja::Value& tools) const;
  bool writes(const std::string& messages, std::initializer_list<const char*> marks, const char* tools = "",
              std::initializer_list<const char*> unwanted = {}) const;
  void probe();
  bool probe_content(RoleClass role);
  void probe_system();
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
