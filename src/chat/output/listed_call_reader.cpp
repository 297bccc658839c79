// Calls that are written as JSON objects or Python calls, alone or in a list.
#include <algorithm>
#include <utility>
#include <vector>

#include "chat/output/call_reader.h"
#include "chat/output/markers.h"
#include "json/json.h"

namespace skipstone::chat {
namespace {

class ListedCallReader final : public CallReader {
 public:
  ListedCallReader(const OutputFormat& format, const CallOptions& options, bool bare, std::size_t marker_bytes)
      : CallReader(format, options, marker_bytes, !bare), bare_(bare) {}

 private:
  enum class State { list, element, scan, after_element, list_end, found };

  Next run() override;
  void read_call(std::string_view text) override;
  Next begin_streaming(const JsonScanner& scanner) override;
  std::size_t streamable_end(const JsonScanner& scanner) const override;

  Next read_list();
  Next read_element();
  Next read_after_element();
  Next read_list_end();
  Next give_found();
  /// deliver(), but the calls of a bare answer are kept until its end.
  Next deliver_or_keep();

  Next go(State then) {
    state_ = then;
    return std::nullopt;
  }

  const bool bare_;
  State state_ = State::list;
  bool listed_ = false;
  std::size_t streamed_ = 0;                         ///< start of the arguments in the element; while streaming
  std::vector<std::pair<std::size_t, Call>> found_;  ///< of a bare answer, and where they end: calls only when all has ended well
  std::size_t next_found_ = 0, found_used_ = 0;
};

CallReader::Next ListedCallReader::run() {
  switch (state_) {
    case State::list:
      return read_list();
    case State::element:
      return read_element();
    case State::scan:
      if (Next step = scan()) return step;
      return go(State::after_element);
    case State::after_element:
      return read_after_element();
    case State::list_end:
      return read_list_end();
    case State::found:
      return give_found();
  }
  return std::nullopt;
}

CallReader::Next ListedCallReader::read_list() {
  if (!skip_blanks()) return more();
  listed_ = text_[at_] == '[';
  if (listed_) ++at_;
  return go(State::element);
}

CallReader::Next ListedCallReader::read_element() {
  const bool follows = found_call_ || given_text_;
  const Kind separators = found_call_ ? Kind::marker : Kind::text;
  if (!skip_blanks()) return ended_ && follows && at_ > 0 ? used(separators, at_) : more();
  if (listed_ && text_[at_] == ']') {
    ++at_;
    return go(State::list_end);
  }
  const bool python = format_.python && (listed_ || bare_) && is_name_byte(text_[at_]);
  if (text_[at_] != '{' && !python) return refused();
  if (follows && at_ > 0) return used(separators, at_);
  element_ = at_;
  if (python) {
    scanner_ = PythonScanner();
  } else {
    scanner_ = JsonScanner(repairs());
  }
  return go(State::scan);
}

void ListedCallReader::read_call(std::string_view text) {
  if (std::holds_alternative<JsonScanner>(scanner_)) {
    call_ = call_from_json(text, note_);
    if (call_) {
      call_->arguments_at += element_;
    } else if (repairs()) {
      call_ = call_from_damaged_json(text);
    }
  } else {
    call_ = call_from_python(text);
    if (!call_) note_ = "a call is not in Python's form with keywords and literals";
  }
}

CallReader::Next ListedCallReader::begin_streaming(const JsonScanner& scanner) {
  std::string name, id;
  for (const JsonScanner::Member& member : scanner.members()) {
    if (member.key_end == 0 || member.value == 0) break;
    const std::string_view key = text_.substr(element_ + member.key + 1, member.key_end - member.key - 2);
    const std::string_view value = text_.substr(element_ + member.value, member.value_end == 0 ? 1 : member.value_end - member.value);
    if (key.find('\\') != key.npos || key == "function") return std::nullopt;  // the complete object shows whether its arguments are there
    if (is_arguments_key(key)) {
      if (!value.starts_with('{') || !options_.allows(name) || name.empty()) return std::nullopt;
      streamed_ = member.value;
      return begin_arguments(std::move(name), std::move(id), member.value);
    }
    if (member.value_end == 0 || !value.starts_with('"') || (!is_name_key(key) && !is_id_key(key))) continue;
    const auto text = SortedJson::parse(value, nullptr, false);
    if (text.is_string()) (is_name_key(key) ? name : id) = text.get<std::string>();
  }
  return std::nullopt;
}

std::size_t ListedCallReader::streamable_end(const JsonScanner& scanner) const {
  for (const JsonScanner::Member& member : scanner.members()) {
    if (member.value == streamed_ && member.value_end != 0) return member.value_end;
  }
  return scanner.at();
}

/// The text that follows shows whether the element is one of a list.
CallReader::Next ListedCallReader::read_after_element() {
  if (!listed_ && !bare_) {
    finished_ = true;
    return deliver();
  }
  if (!skip_blanks()) {
    if (!ended_) return more();
    if (bare_ && listed_) return give_up("the answer ends in the middle of a list of calls");
    state_ = State::found;
    finished_ = !bare_;
    return deliver_or_keep();
  }
  const char byte = text_[at_];
  if (listed_ && (byte == ',' || byte == ']')) {
    ++at_;
    state_ = byte == ',' ? State::element : State::list_end;
    return deliver_or_keep();
  }
  if (!listed_ && (byte == ';' || byte == '{')) {
    if (byte == ';') ++at_;
    state_ = State::element;
    return deliver_or_keep();
  }
  return refused();
}

CallReader::Next ListedCallReader::read_list_end() {
  if (!bare_) {
    finished_ = true;
    if (at_ == 0) return std::nullopt;
    return used(found_call_ ? Kind::marker : Kind::text, at_);
  }
  if (skip_blanks()) return refused();
  return ended_ && !found_.empty() ? go(State::found) : more();
}

CallReader::Next ListedCallReader::give_found() {
  if (next_found_ < found_.size()) {
    auto& [end, call] = found_[next_found_++];
    found_call_ = true;
    call.arguments_at -= std::min(call.arguments_at, found_used_);
    Step step = used(Kind::call, end - found_used_);
    found_used_ = end;
    step.call = std::move(call);
    return step;
  }
  finished_ = true;
  return text_.empty() ? Next() : used(Kind::marker, text_.size());
}

CallReader::Next ListedCallReader::deliver_or_keep() {
  if (!bare_) return deliver();
  if (!accepts() || !options_.tools) return refused_at(at_, note_);
  found_.emplace_back(read_to_, std::move(*call_));
  return std::nullopt;
}

}  // namespace

std::unique_ptr<CallReader> make_listed_call_reader(const OutputFormat& format, const CallOptions& options, bool bare,
                                                    std::size_t marker_bytes) {
  return std::make_unique<ListedCallReader>(format, options, bare, marker_bytes);
}

}  // namespace skipstone::chat
