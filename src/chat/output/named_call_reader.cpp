// Calls that are written as a name and then their arguments: a JSON object, or parameters in tags.
#include <algorithm>
#include <utility>

#include "chat/output/call_reader.h"
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

class NamedCallReader final : public CallReader {
 public:
  NamedCallReader(const OutputFormat& format, const CallOptions& options, CallStart start, std::size_t marker_bytes)
      : CallReader(format, options, marker_bytes, true),
        state_(start == CallStart::section  ? State::call_open
               : start == CallStart::header ? State::header
                                            : State::name) {}

 private:
  enum class State {
    call_open,
    name,
    name_close,
    header,
    arguments_open,
    arguments,
    arguments_close,
    scan,
    parameters,
    key,
    value_open,
    value,
    after_value
  };

  Next run() override;
  void read_call(std::string_view text) override;
  Next begin_streaming(const JsonScanner& scanner) override;
  std::size_t streamable_end(const JsonScanner& scanner) const override { return scanner.at(); }

  Next read_name();
  Next read_header();
  Next read_arguments_open();
  Next read_arguments();
  Next read_arguments_close();
  Next read_parameters();
  Next read_key();
  Next read_value_open();
  Next read_value();
  Next read_after_value();

  Next go(State then) {
    state_ = then;
    return std::nullopt;
  }
  /// Changes the state to `then` where `step`, of literal() or scan(), is none.
  Next go_after(Next step, State then) { return step ? std::move(step) : go(then); }
  std::size_t name_bytes(std::size_t from) const;

  State state_;
  std::string name_, id_, key_;
  ObjectWriter parameters_;
  std::size_t value_end_ = 0;
};

CallReader::Next NamedCallReader::run() {
  switch (state_) {
    case State::call_open:
      return go_after(literal(format_.call_open), State::name);
    case State::name:
      return read_name();
    case State::name_close:
      return go_after(literal(format_.name_close), State::parameters);
    case State::header:
      return read_header();
    case State::arguments_open:
      return read_arguments_open();
    case State::arguments:
      return read_arguments();
    case State::scan:
      return go_after(scan(), State::arguments_close);
    case State::arguments_close:
      return read_arguments_close();
    case State::parameters:
      return read_parameters();
    case State::key:
      return read_key();
    case State::value_open:
      return read_value_open();
    case State::value:
      return read_value();
    case State::after_value:
      return read_after_value();
  }
  return std::nullopt;
}

std::size_t NamedCallReader::name_bytes(std::size_t from) const {
  std::size_t end = from;
  while (end < text_.size() && is_name_byte(text_[end])) ++end;
  return end - from;
}

CallReader::Next NamedCallReader::read_name() {
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

CallReader::Next NamedCallReader::read_header() {
  const std::size_t body = text_.substr(0, longest_header).find(message_body);
  if (body == std::string_view::npos) {
    if (text_.size() < longest_header) return more();
    return refused_at(longest_header - unfinished_character(text_.substr(0, longest_header)), "the header of a message is too long");
  }
  ChannelHeader header = read_channel_header(text_.substr(0, body));
  at_ = body + message_body.size();
  if (header.recipient.empty()) {
    finished_ = true;
    return used(header.channel == "analysis" ? Kind::reasoning : Kind::content, at_);
  }
  name_ = std::move(header.recipient);
  if (name_.starts_with(format_.name_prefix)) name_.erase(0, format_.name_prefix.size());
  return go(State::arguments);
}

CallReader::Next NamedCallReader::read_arguments_open() {
  if (!skip_blanks()) return more();
  const Match matched = id_.empty() ? match(rest(), format_.id_open, ended_) : Match::no;
  if (matched == Match::undecided) return more();
  if (matched == Match::no) return go_after(literal(format_.arguments_open), State::arguments);
  const std::size_t from = at_ + format_.id_open.size(), bytes = name_bytes(from);
  if (bytes > longest_name) return refused();
  if (from + bytes == text_.size()) return more();
  if (bytes == 0) return refused();
  id_ = text_.substr(from, bytes);
  at_ = from + bytes;
  return std::nullopt;
}

CallReader::Next NamedCallReader::read_arguments() {
  if (!skip_blanks()) return more();
  if (text_[at_] != '{') return refused();
  element_ = at_;
  scanner_ = JsonScanner(repairs());
  return go(State::scan);
}

void NamedCallReader::read_call(std::string_view text) {
  if (is_json_object(text, note_)) {
    call_ = Call{.name = name_, .id = id_, .arguments = std::string(text), .arguments_at = element_, .arguments_bytes = text.size()};
  } else if (std::optional<std::string> repaired = repairs() ? repaired_object(text) : std::nullopt) {
    call_ = Call{.name = name_, .id = id_, .arguments = std::move(*repaired)};
  }
}

CallReader::Next NamedCallReader::begin_streaming(const JsonScanner&) {
  return options_.allows(name_) ? Next(begin_arguments(name_, id_, 0)) : std::nullopt;
}

CallReader::Next NamedCallReader::read_arguments_close() {
  if (!format_.arguments_close.empty()) {
    if (Next step = literal(format_.arguments_close)) return step;
    read_to_ = at_;
  }
  finished_ = true;
  return deliver();
}

CallReader::Next NamedCallReader::read_parameters() {
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
    finished_ = true;
    return deliver();
  }
  return key == Match::undecided || close == Match::undecided ? more() : refused();
}

CallReader::Next NamedCallReader::read_key() {
  const std::size_t close = rest().substr(0, longest_name).find(format_.key_close);
  if (close == std::string_view::npos) return rest().size() < longest_name ? more() : refused();
  key_ = rest().substr(0, close);
  at_ += close + format_.key_close.size();
  return go(State::value_open);
}

CallReader::Next NamedCallReader::read_value_open() {
  if (Next step = literal(format_.value_open)) return step;
  element_ = at_;
  return go(State::value);
}

CallReader::Next NamedCallReader::read_value() {
  const std::size_t close = text_.find(format_.value_close, at_);
  if (close == std::string_view::npos) {
    at_ = std::max(at_, text_.size() - std::min(text_.size(), format_.value_close.size() - 1));
    return more();
  }
  value_end_ = close;
  at_ = close + format_.value_close.size();
  return go(State::after_value);
}

/// A closing tag is part of the value where nothing follows that the format has there.
CallReader::Next NamedCallReader::read_after_value() {
  if (!skip_blanks()) return more();
  const Match key = match(rest(), format_.key_open, ended_), close = match(rest(), format_.call_close, ended_);
  if (key == Match::no && close == Match::no) {
    at_ = value_end_ + 1;
    return go(State::value);
  }
  if (key != Match::yes && close != Match::yes) return more();
  std::string_view value = text_.substr(element_, value_end_ - element_);
  if (format_.value_on_lines) value = without_line_ends(value);
  std::optional<std::string> json = bare_json(value);
  const Tool* const known = options_.tool(name_);
  if (!json || (known != nullptr && known->is_text(key_, value, *json))) json = json_string(value);
  if (!json || !parameters_.add(key_, *json)) return refused_at(at_, "a parameter appears twice or is not UTF-8");
  return go(State::parameters);
}

}  // namespace

std::unique_ptr<CallReader> make_named_call_reader(const OutputFormat& format, const CallOptions& options, CallStart start,
                                                   std::size_t marker_bytes) {
  return std::make_unique<NamedCallReader>(format, options, start, marker_bytes);
}

}  // namespace skipstone::chat
