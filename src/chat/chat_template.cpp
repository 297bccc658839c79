#include "chat/chat_template.h"

#include <algorithm>

#include "base/hash.h"
#include "base/poll.h"
#include "base/status.h"
#include "chat/jinja/template.h"

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

/// The parts' texts, one after the other.
Value joined_parts(const Value& parts) {
  Text all;
  for (const Value& part : parts.sequence()->items) all.append(member(part, "text")->string()->text);
  return jinja::make_string(nullptr, std::move(all));
}

Value text_part(const Value& text) {
  auto part = std::make_shared<jinja::Dict>(nullptr);
  part->set(trusted_text("type"), trusted_text("text"));
  part->set(trusted_text("text"), text);
  return list_of({jinja::DictRef(std::move(part))});
}

std::string_view role_of(const Value& message) { return member(message, "role")->string()->bytes(); }

/// Moves the system messages' text in front of the first user message, for templates without a system role.
std::vector<Value> without_system(const std::vector<Value>& messages) {
  std::vector<Value> rest;
  Text system;
  for (const Value& message : messages) {
    const Value* content = member(message, "content");
    if (role_of(message) == "system" && content != nullptr) {
      system.append((content->string() != nullptr ? *content : joined_parts(*content)).string()->text);
      system.append("\n\n", Origin::data);
      continue;
    }
    rest.push_back(message);
    if (role_of(message) != "user" || system.empty()) continue;
    Text whole = std::exchange(system, Text());
    whole.append((content->string() != nullptr ? *content : joined_parts(*content)).string()->text);
    const Value text = jinja::make_string(nullptr, std::move(whole));
    rest.back() = with_member(message, "content", &text);
  }
  if (!system.empty()) {  // no user message follows
    auto message = std::make_shared<jinja::Dict>(nullptr);
    message->set(trusted_text("role"), trusted_text("user"));
    message->set(trusted_text("content"), jinja::make_string(nullptr, system.part(0, system.size() - 2)));
    rest.push_back(jinja::DictRef(std::move(message)));
  }
  return rest;
}

}  // namespace

ChatTemplate::ChatTemplate(std::string source, std::string bos, std::string eos)
    : source_(std::move(source)), bos_(std::move(bos)), eos_(std::move(eos)), template_(source_) {
  probe();
}

Value ChatTemplate::adapted_content(const Value& message) const {
  const Value* content = member(message, "content");
  if (content == nullptr) {
    const Value absent = can_.null_content ? Value(jinja::None{}) : trusted_text("");
    return with_member(message, "content", &absent);
  }
  if (content->string() != nullptr && !can_.text_content && can_.part_content) {
    const Value parts = text_part(*content);
    return with_member(message, "content", &parts);
  }
  if (content->sequence() != nullptr && !can_.part_content) {
    const Value text = joined_parts(*content);
    return with_member(message, "content", &text);
  }
  return message;
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

std::vector<Value> ChatTemplate::adapted(const Conversation& conversation) const {
  std::vector<Value> messages;
  messages.reserve(conversation.messages.size());
  const Value system = trusted_text("system");
  for (const Value& message : conversation.messages) {
    poll(32);
    Value changed = adapted_content(message);
    if (can_.short_ids) changed = with_short_ids(changed);
    if (!can_.developer && role_of(changed) == "developer") changed = with_member(changed, "role", &system);
    messages.push_back(std::move(changed));
  }
  return can_.system ? messages : without_system(messages);
}

Text ChatTemplate::render_messages(std::vector<Value> messages, const Conversation& conversation) const {
  jinja::Dict variables(nullptr);
  for (const jinja::Dict::Item& option : conversation.variables) variables.set(option.first, option.second);
  variables.set(trusted_text("messages"), list_of(std::move(messages)));
  if (!conversation.tools.is<jinja::Undefined>()) variables.set(trusted_text("tools"), conversation.tools);
  variables.set(trusted_text("add_generation_prompt"), conversation.add_generation_prompt);
  variables.set(trusted_text("bos_token"), trusted_text(bos_));
  variables.set(trusted_text("eos_token"), trusted_text(eos_));
  const std::tm now = conversation.now ? *conversation.now : jinja::local_time();
  return conversation.continue_final_message ? jinja::render_continued(template_, variables, conversation.bytes, now)
                                             : template_.render(variables, conversation.bytes, now);
}

Text ChatTemplate::render(const Conversation& conversation) const { return render_messages(adapted(conversation), conversation); }

}  // namespace skipstone::chat
