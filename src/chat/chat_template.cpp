#include "chat/chat_template.h"

#include <algorithm>

#include "base/hash.h"
#include "base/poll.h"
#include "base/status.h"
#include "chat/jinja/template.h"
#include "chat/system_messages.h"
#include "chat/tool_text.h"

namespace skipstone::chat {

using jinja::Origin;
using jinja::Text;
using jinja::Value;

namespace {

/// Nine letters and digits that represent `id`; itself where it is of that form.
std::string short_id(std::string_view id) {
  constexpr std::string_view letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  if (id.size() == 9 && id.find_first_not_of(letters) == std::string_view::npos) return std::string(id);
  std::uint64_t number = fnv1a(id);
  std::string made;
  for (int i = 0; i < 9; ++i, number /= letters.size()) made += letters[number % letters.size()];
  return made;
}

Value short_id_of(const Value& id) { return jinja::make_string(nullptr, short_id(id.string()->bytes()), Origin::data); }

}  // namespace

ChatTemplate::ChatTemplate(std::string source, std::string bos, std::string eos)
    : source_(std::move(source)), bos_(std::move(bos)), eos_(std::move(eos)), template_(source_) {
  probe();
}

Value ChatTemplate::adapted_content(const Value& message) const {
  const Value* content = member(message, "content");
  if (content == nullptr) {
    const bool none = can_.null_content && member(message, "tool_calls") != nullptr;
    const Value absent = none ? Value(jinja::None{}) : trusted_text("");
    return with_member(message, "content", &absent);
  }
  const ContentForms& forms = can_.content[role_class(role_of(message))];
  if (content->string() != nullptr && !forms.text && forms.parts) {
    const Value parts = list_of({text_part(*content)});
    return with_member(message, "content", &parts);
  }
  return content->sequence() != nullptr && !forms.parts ? with_text(message, text_of(message)) : message;
}

Value ChatTemplate::with_thinking(const Value& message) const {
  const Value* reasoning = member(message, "reasoning_content");
  const bool full = member(message, "tool_calls") != nullptr && !text_of(message).empty();  // the template takes one of text and thinking
  return reasoning == nullptr || full ? message : with_member(message, "thinking", reasoning);
}

Value ChatTemplate::with_short_ids(const Value& message) const {
  Value changed = message;
  if (const Value* id = member(message, "tool_call_id"); id != nullptr && id->string() != nullptr) {
    const Value made = short_id_of(*id);
    changed = with_member(changed, "tool_call_id", &made);
  }
  if (const Value* calls = member(message, "tool_calls")) {
    std::vector<Value> all;
    for (const Value& call : calls->sequence()->items) {
      const Value made = short_id_of(*member(call, "id"));
      all.push_back(with_member(call, "id", &made));
    }
    const Value list = list_of(std::move(all));
    changed = with_member(changed, "tool_calls", &list);
  }
  return changed;
}

/// Descriptions and parameters are optional, but not every template knows that.
Value ChatTemplate::adapted_tools(const Value& tools) const {
  if (!can_.tool_description && !can_.tool_parameters) return tools;
  const Value no_description = trusted_text("");
  const Value no_parameters = jinja::read_json(R"({"type": "object", "properties": {}})", "parameters", Origin::template_text);
  std::vector<Value> all;
  for (const Value& tool : tools.sequence()->items) {
    Value function = *member(tool, "function");
    if (can_.tool_description && member(function, "description") == nullptr)
      function = with_member(function, "description", &no_description);
    if (can_.tool_parameters && member(function, "parameters") == nullptr) function = with_member(function, "parameters", &no_parameters);
    all.push_back(with_member(tool, "function", &function));
  }
  return list_of(std::move(all));
}

bool ChatTemplate::needs_tool_text(const Conversation& conversation) const {
  return !can_.tools && !conversation.tools.is<jinja::Undefined>();
}

std::vector<Value> ChatTemplate::adapted(const Conversation& conversation) const {
  const bool words = needs_tool_text(conversation);
  const OutputFormat& format = tool_text_format(source_);
  const bool generic = words && &format != &detect_output_format(source_);
  const ToolText wanted{format, words, generic || can_.call_text, generic || !can_.tool_results};
  std::vector<Value> messages = can_.error_results ? conversation.messages : with_error_text(conversation.messages);
  if (wanted.any()) messages = with_tool_text(messages, wanted, conversation.tools, conversation.bytes);
  if (can_.single_calls && !wanted.calls) messages = with_single_calls(messages);
  const Value system = trusted_text("system");
  for (Value& message : messages) {
    if (!can_.developer && role_of(message) == "developer") message = with_member(message, "role", &system);
  }
  messages = place_system_messages(messages, can_);
  for (Value& message : messages) {
    poll(32);
    if (can_.thinking_key) message = with_thinking(message);
    message = adapted_content(message);
    if (can_.short_ids) message = with_short_ids(message);
  }
  return messages;
}

Text ChatTemplate::render_messages(std::vector<Value> messages, const Conversation& conversation) const {
  jinja::Dict variables(nullptr);
  for (const jinja::Dict::Item& option : conversation.variables) variables.set(option.first, option.second);
  variables.set(trusted_text("messages"), list_of(std::move(messages)));
  const bool given = !conversation.tools.is<jinja::Undefined>() && !needs_tool_text(conversation);
  if (given) variables.set(trusted_text("tools"), adapted_tools(conversation.tools));
  variables.set(trusted_text("add_generation_prompt"), conversation.add_generation_prompt);
  variables.set(trusted_text("bos_token"), trusted_text(bos_));
  variables.set(trusted_text("eos_token"), trusted_text(eos_));
  const std::tm now = conversation.now ? *conversation.now : jinja::local_time();
  return conversation.continue_final_message ? jinja::render_continued(template_, variables, conversation.bytes, now)
                                             : template_.render(variables, conversation.bytes, now);
}

Text ChatTemplate::render(const Conversation& conversation) const { return render_messages(adapted(conversation), conversation); }

}  // namespace skipstone::chat
