#include "base/status.h"
#include "chat/jinja/template.h"
#include "chat/jinja/unicode.h"

namespace skipstone::chat::jinja {
namespace {

constexpr std::string_view mark = "CONTINUE_FINAL_MESSAGE_TAG ";  // as in transformers; templates may trim the text after it
constexpr std::string_view trimmed_mark = mark.substr(0, mark.size() - 1);

std::shared_ptr<Dict> with_value(const Dict& dict, std::string_view key, Value value) {
  auto copy = std::make_shared<Dict>(nullptr);
  for (const Dict::Item& entry : dict.items()) copy->set(entry.first, entry.second);
  copy->set(make_string(nullptr, std::string(key), Origin::template_text), std::move(value));
  return copy;
}

Value marked(const String& text) {
  Text longer = text.text;
  longer.append(mark, Origin::data);
  return make_string(nullptr, std::move(longer));
}

[[noreturn]] void fail_no_text() {
  fail_about("messages", Code::invalid_argument, "messages: the last one has no text that could be continued");
}

/// The message with the mark at the end of its text; `text` gets the text without the mark.
Value marked_message(const Dict& message, std::string& text) {
  const Value* content = message.find("content");
  if (content == nullptr) fail_no_text();
  if (const String* string = content->string()) {
    text = string->bytes();
    return DictRef(with_value(message, "content", marked(*string)));
  }
  const Sequence* list = content->sequence();
  if (list == nullptr) fail_no_text();
  std::vector<Value> parts = list->items;
  for (std::size_t i = parts.size(); i-- > 0;) {
    const Dict* part = parts[i].dict();
    const Value* found = part == nullptr ? nullptr : part->find("text");
    if (found == nullptr || found->string() == nullptr) continue;
    text = found->string()->bytes();
    parts[i] = DictRef(with_value(*part, "text", marked(*found->string())));
    return DictRef(with_value(message, "content", make_sequence(nullptr, Sequence::Kind::list, std::move(parts))));
  }
  fail_no_text();
}

}  // namespace

Text render_continued(const Template& chat_template, const Dict& variables, std::size_t variables_bytes, const std::tm& now) {
  const Value* messages = variables.find("messages");
  const Sequence* list = messages == nullptr ? nullptr : messages->sequence();
  if (list == nullptr || list->items.empty() || list->items.back().dict() == nullptr) {
    fail_about("messages", Code::invalid_argument, "messages: there is no last message that could be continued");
  }
  std::string text;
  std::vector<Value> changed = list->items;
  changed.back() = marked_message(*list->items.back().dict(), text);
  const auto all = with_value(variables, "messages", make_sequence(nullptr, Sequence::Kind::list, std::move(changed)));
  const Text rendered = chat_template.render(*all, variables_bytes, now);
  const std::size_t place = rendered.bytes().rfind(trimmed_mark);
  std::string_view wanted = text;
  wanted = wanted.substr(0, strip_end(wanted));
  wanted = wanted.substr(strip_begin(wanted));
  if (place == std::string_view::npos || find_text(rendered.bytes(), wanted, 0) == std::string_view::npos) {
    fail(Code::invalid_argument, "the template does not write the last message as it is, so it cannot be continued");
  }
  if (rendered.bytes().substr(place, mark.size()) == mark) return rendered.part(0, place);
  return rendered.part(0, strip_end(rendered.bytes().substr(0, place)));
}

}  // namespace skipstone::chat::jinja
