#include "chat/output/call_reader.h"

#include <algorithm>
#include <utility>

#include "chat/output/channel_header.h"
#include "chat/output/markers.h"

namespace skipstone::chat {
namespace {

constexpr std::size_t longest_name = 256;  // bytes

/// Removes one line end at each end of a value.
std::string_view without_line_ends(std::string_view value) {
  if (value.starts_with("\r\n")) {
    value.remove_prefix(2);
  } else if (value.starts_with('\n')) {
    value.remove_prefix(1);
  }
  if (value.ends_with('\n')) value.remove_suffix(value.ends_with("\r\n") ? 2 : 1);
  return value;
}

}  // namespace

CallReader::CallReader(const OutputFormat& format, const CallOptions& options, CallStart start, std::size_t marker_bytes)
    : format_(format), options_(options), bare_(start == CallStart::bare), state_(State::list), at_(marker_bytes) {
  if (start == CallStart::section && format.syntax != CallSyntax::json) state_ = State::call_open;
  if (start == CallStart::call) state_ = State::name;
  if (start == CallStart::header) state_ = State::header;
}

CallReader::Step CallReader::next(std::string_view text, bool ended) {
  text_ = text;
  ended_ = ended;
  for (;;) {
    if (Next step = run()) return std::move(*step);
  }
}

CallReader::Next CallReader::run() {
  switch (state_) {
    case State::call_open:
      return read_call_open();
    case State::name:
      return read_name();
    case State::name_close:
      return literal(format_.name_close, State::parameters);
    case State::header:
      return read_header();
    case State::arguments_open:
      return read_arguments_open();
    case State::arguments:
      return read_arguments();
    case State::parameters:
      return read_parameters();
    case State::key:
      return read_key();
    case State::value_open:
      return read_value_open();
    case State::value:
      return read_value();
    case State::list:
      return read_list();
    case State::element:
      return read_element();
    case State::scan:
      return scan();
    case State::after_element:
      return read_after_element();
    case State::list_end:
      return read_list_end();
    case State::found:
      return give_found();
    case State::finished:
      break;
  }
  return Step{.kind = Kind::done};
}

CallReader::Step CallReader::used(Kind kind, std::size_t bytes) {
  Step step{.kind = kind, .bytes = bytes, .from = given_, .to = bytes};
  at_ -= std::min(at_, bytes);
  element_ -= std::min(element_, bytes);
  given_ = 0;
  given_text_ = given_text_ || kind == Kind::text;
  return step;
}

CallReader::Next CallReader::go(State then) {
  state_ = then;
  return std::nullopt;
}

CallReader::Step CallReader::give_up(const char* note) {
  return *refused_at(text_.size() - (ended_ ? 0 : unfinished_character(text_)), note);
}

CallReader::Next CallReader::more() {
  if (!ended_) return Step{};
  return give_up("the answer ends in the middle of a call");
}

CallReader::Next CallReader::refused_at(std::size_t at, const std::string& note) {
  state_ = State::finished;
  Step step = used(std::exchange(streaming_, false) ? Kind::broken : Kind::text, at);
  step.note = note;
  return step;
}

/// False where the text ends first.
bool CallReader::skip_blanks() {
  at_ += leading_blanks(rest());
  return at_ < text_.size();
}

CallReader::Next CallReader::literal(std::string_view mark, State then) {
  if (!mark.empty()) {
    if (!skip_blanks()) return more();
    const Match matched = match(rest(), mark, ended_);
    if (matched == Match::undecided) return more();
    if (matched == Match::no) return refused();
    at_ += mark.size();
  }
  return go(then);
}

std::size_t CallReader::name_bytes(std::size_t from) const {
  std::size_t end = from;
  while (end < text_.size() && is_name_byte(text_[end])) ++end;
  return end - from;
}

const Tool* CallReader::tool(std::string_view name) const {
  if (!options_.tools) return nullptr;
  const auto found = std::ranges::find(*options_.tools, name, &Tool::name);
  return found == options_.tools->end() ? nullptr : &*found;
}

bool CallReader::can_be_call(std::string_view name) const { return options_.wanted && (!options_.tools || tool(name) != nullptr); }

// ---- a name, then arguments ----

CallReader::Next CallReader::read_call_open() { return literal(format_.call_open, State::name); }

CallReader::Next CallReader::read_name() {
  if (!skip_blanks()) return more();
  const std::size_t bytes = name_bytes(at_);
  if (bytes > longest_name || bytes == 0) return refused();
  if (at_ + bytes == text_.size()) return more();
  name_ = text_.substr(at_, bytes);
  at_ += bytes;
  if (format_.name_is_id) {
    id_ = name_;
    name_.resize(std::min(name_.rfind(':'), name_.size()));
  }
  if (name_.starts_with(format_.name_prefix)) name_.erase(0, format_.name_prefix.size());
  return go(format_.syntax == CallSyntax::tagged ? State::name_close : State::arguments_open);
}

CallReader::Next CallReader::read_header() {
  const std::size_t body = text_.substr(0, longest_header).find(message_body);
  if (body == std::string_view::npos) {
    if (text_.size() < longest_header) return more();
    return refused_at(longest_header - unfinished_character(text_.substr(0, longest_header)), "the header of a message is too long");
  }
  ChannelHeader header = read_channel_header(text_.substr(0, body));
  at_ = body + message_body.size();
  if (header.recipient.empty()) {
    state_ = State::finished;
    return used(header.channel == "analysis" ? Kind::reasoning : Kind::content, at_);
  }
  name_ = std::move(header.recipient);
  if (name_.starts_with(format_.name_prefix)) name_.erase(0, format_.name_prefix.size());
  return go(State::arguments);
}

CallReader::Next CallReader::read_arguments_open() {
  if (!skip_blanks()) return more();
  const Match matched = id_.empty() ? match(rest(), format_.id_open, ended_) : Match::no;
  if (matched == Match::undecided) return more();
  if (matched == Match::no) return literal(format_.arguments_open, State::arguments);
  const std::size_t from = at_ + format_.id_open.size(), bytes = name_bytes(from);
  if (bytes > longest_name) return refused();
  if (from + bytes == text_.size()) return more();
  if (bytes == 0) return refused();
  id_ = text_.substr(from, bytes);
  at_ = from + bytes;
  return std::nullopt;
}

CallReader::Next CallReader::read_arguments() {
  if (!skip_blanks()) return more();
  if (text_[at_] != '{') return refused();
  element_ = at_;
  scanner_ = JsonScanner();
  return go(State::scan);
}

CallReader::Next CallReader::read_parameters() {
  if (!skip_blanks()) return more();
  const Match key = match(rest(), format_.key_open, ended_), close = match(rest(), format_.call_close, ended_);
  if (key == Match::yes) {
    at_ += format_.key_open.size();
    return go(State::key);
  }
  if (close == Match::yes) {
    at_ += format_.call_close.size();
    read_to_ = at_;
    call_ = Call{.name = name_, .id = id_, .arguments = parameters_.finish()};
    state_ = State::finished;
    return deliver();
  }
  return key == Match::undecided || close == Match::undecided ? more() : refused();
}

CallReader::Next CallReader::read_key() {
  const std::size_t close = rest().substr(0, longest_name).find(format_.key_close);
  if (close == std::string_view::npos) return rest().size() < longest_name ? more() : refused();
  key_ = rest().substr(0, close);
  at_ += close + format_.key_close.size();
  return go(State::value_open);
}

CallReader::Next CallReader::read_value_open() {
  Next step = literal(format_.value_open, State::value);
  if (state_ == State::value) element_ = at_;
  return step;
}

CallReader::Next CallReader::read_value() {
  const std::size_t close = text_.find(format_.value_close, at_);
  if (close == std::string_view::npos) {
    at_ = std::max(at_, text_.size() - std::min(text_.size(), format_.value_close.size() - 1));
    return more();
  }
  at_ = close + format_.value_close.size();
  std::string_view value = text_.substr(element_, close - element_);
  if (format_.value_on_lines) value = without_line_ends(value);
  const Tool* const known = tool(name_);
  const std::optional<std::string> json = json_of_bare(value, known != nullptr && known->is_text(key_, false));
  if (!json || !parameters_.add(key_, *json)) return refused_at(at_, "a parameter appears twice or is not UTF-8");
  return go(State::parameters);
}

// ---- JSON objects and Python calls, alone or in a list ----

CallReader::Next CallReader::read_list() {
  if (!skip_blanks()) return more();
  listed_ = text_[at_] == '[';
  if (listed_) ++at_;
  return go(State::element);
}

CallReader::Next CallReader::read_element() {
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
    scanner_ = JsonScanner();
  }
  return go(State::scan);
}

CallReader::Next CallReader::scan() {
  const std::string_view text = text_.substr(element_);
  const auto scanned = std::visit([&](auto& scanner) { return scanner.scan(text); }, scanner_);
  at_ = element_ + std::visit([](const auto& scanner) { return scanner.at(); }, scanner_);
  if (scanned == JsonScanner::Status::failed) return refused_at(at_, "the JSON of a call is malformed");
  if (const auto* json = std::get_if<JsonScanner>(&scanner_)) {
    if (Next step = stream(*json)) return step;
  }
  if (scanned == JsonScanner::Status::more) return more();
  read_to_ = at_;
  read_call();
  return go(State::after_element);
}

/// Reads the call from the scanned text.
void CallReader::read_call() {
  const std::string_view text = text_.substr(element_, read_to_ - element_);
  note_.clear();
  call_.reset();
  if (format_.syntax != CallSyntax::json) {
    if (is_json_object(text, note_)) {
      call_ = Call{.name = name_, .id = id_, .arguments = std::string(text), .arguments_at = element_, .arguments_bytes = text.size()};
    }
  } else if (const auto* json = std::get_if<JsonScanner>(&scanner_)) {
    call_ = call_from_json(text, json->members(), note_);
    if (call_) call_->arguments_at += element_;
  } else {
    call_ = call_from_python(text);
    if (!call_) note_ = "a call is not in Python's form with keywords and literals";
  }
}

CallReader::Next CallReader::read_after_element() {
  if (format_.syntax != CallSyntax::json) {
    if (!format_.arguments_close.empty()) {
      if (Next step = literal(format_.arguments_close, State::finished)) return step;
      read_to_ = at_;
    }
    state_ = State::finished;
    return deliver();
  }
  if (!listed_ && !bare_) {
    state_ = State::finished;
    return deliver();
  }
  return read_after_listed();
}

/// The text that follows shows whether the element is one of a list.
CallReader::Next CallReader::read_after_listed() {
  if (!skip_blanks()) {
    if (!ended_) return more();
    state_ = bare_ && !listed_ ? State::found : State::finished;
    return bare_ && listed_ ? give_up("the answer ends in the middle of a list of calls") : deliver();
  }
  const char byte = text_[at_];
  if (listed_ && (byte == ',' || byte == ']')) {
    ++at_;
    state_ = byte == ',' ? State::element : State::list_end;
    return deliver();
  }
  if (!listed_ && (byte == ';' || byte == '{')) {
    if (byte == ';') ++at_;
    state_ = State::element;
    return deliver();
  }
  return refused();
}

CallReader::Next CallReader::read_list_end() {
  if (!bare_) {
    state_ = State::finished;
    if (at_ == 0) return std::nullopt;
    return used(found_call_ ? Kind::marker : Kind::text, at_);
  }
  if (skip_blanks()) return refused();
  return ended_ && !found_.empty() ? go(State::found) : more();
}

CallReader::Next CallReader::give_found() {
  if (next_found_ < found_.size()) {
    auto& [end, call] = found_[next_found_++];
    found_call_ = true;
    call.arguments_at -= std::min(call.arguments_at, found_used_);
    Step step = used(Kind::call, end - found_used_);
    found_used_ = end;
    step.call = std::move(call);
    return step;
  }
  state_ = State::finished;
  return text_.empty() ? Next() : used(Kind::marker, text_.size());
}

/// The element that was read, up to `read_to_`; of a bare answer it is kept.
CallReader::Next CallReader::deliver() {
  const bool good = call_ && can_be_call(call_->name);
  if (call_ && !good) note_ = "the request has no tool of that name";
  if (bare_) {
    if (!good || !options_.tools) return refused_at(at_, note_);
    found_.emplace_back(read_to_, std::move(*call_));
    return std::nullopt;
  }
  if (std::exchange(streaming_, false)) {
    found_call_ = found_call_ || good;
    given_text_ = given_text_ || !good;
    Step step = used(good ? Kind::end : Kind::broken, read_to_);
    step.note = note_;
    return step;
  }
  Step step = used(good ? Kind::call : Kind::text, read_to_);
  step.note = note_;
  if (good) {
    found_call_ = true;
    step.call = std::move(*call_);
  }
  return step;
}

}  // namespace skipstone::chat
