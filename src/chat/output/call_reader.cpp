#include "chat/output/call_reader.h"

#include <algorithm>
#include <utility>

#include "chat/output/markers.h"

namespace skipstone::chat {

std::unique_ptr<CallReader> CallReader::make(const OutputFormat& format, const CallOptions& options, CallStart start,
                                             std::size_t marker_bytes) {
  if (format.syntax == CallSyntax::json) return make_listed_call_reader(format, options, start == CallStart::bare, marker_bytes);
  return make_named_call_reader(format, options, start, marker_bytes);
}

CallReader::CallReader(const OutputFormat& format, const CallOptions& options, std::size_t marker_bytes, bool streams)
    : format_(format), options_(options), at_(marker_bytes), streams_(options.stream_arguments && streams && !format.id_is_last) {}

CallReader::Step CallReader::next(std::string_view text, bool ended) {
  text_ = text;
  ended_ = ended;
  while (!finished_) {
    if (Next step = run()) return std::move(*step);
  }
  return {.kind = Kind::done};
}

CallReader::Step CallReader::used(Kind kind, std::size_t bytes) {
  Step step{.kind = kind, .bytes = bytes, .from = given_, .to = bytes};
  at_ -= std::min(at_, bytes);
  element_ -= std::min(element_, bytes);
  given_ = 0;
  given_text_ = given_text_ || kind == Kind::text;
  return step;
}

CallReader::Step CallReader::give_up(const char* note) {
  return *refused_at(text_.size() - (ended_ ? 0 : unfinished_character(text_)), note);
}

CallReader::Next CallReader::more() {
  if (!ended_) return Step{};
  return give_up("the answer ends in the middle of a call");
}

CallReader::Next CallReader::refused_at(std::size_t at, const std::string& note) {
  finished_ = true;
  Step step = used(std::exchange(streaming_, false) ? Kind::broken : Kind::text, at);
  step.note = note;
  return step;
}

/// False where the text ends first.
bool CallReader::skip_blanks() {
  at_ += leading_blanks(rest());
  return at_ < text_.size();
}

CallReader::Next CallReader::literal(std::string_view mark) {
  if (mark.empty()) return std::nullopt;
  if (!skip_blanks()) return more();
  const Match matched = match(rest(), mark, ended_);
  if (matched == Match::undecided) return more();
  if (matched == Match::no) return refused();
  at_ += mark.size();
  return std::nullopt;
}

CallReader::Next CallReader::scan() {
  const std::string_view text = text_.substr(element_);
  const auto scanned = std::visit([&](auto& scanner) { return scanner.scan(text); }, scanner_);
  at_ = element_ + std::visit([](const auto& scanner) { return scanner.at(); }, scanner_);
  const auto* json = std::get_if<JsonScanner>(&scanner_);
  // A string that was not closed may hide a call: reading continues at its first line end.
  const bool damaged = json != nullptr && json->damaged_at() != std::string_view::npos;
  const std::size_t refused_to = damaged ? element_ + json->damaged_at() : at_;
  if (scanned == JsonScanner::Status::failed) return refused_at(refused_to, "the JSON of a call is malformed");
  if (json != nullptr) {
    if (Next step = stream(*json)) return step;
  }
  if (scanned == JsonScanner::Status::more && ended_ && damaged) return refused_at(refused_to, "the answer ends in the middle of a call");
  if (scanned == JsonScanner::Status::more) return more();
  read_to_ = at_;
  note_.clear();
  call_.reset();
  read_call(text.substr(0, read_to_ - element_));
  if (damaged && !call_) return refused_at(refused_to, note_);
  return std::nullopt;
}

bool CallReader::accepts() {
  const bool good = call_ && options_.allows(call_->name);
  if (call_ && !good) note_ = "the request has no tool of that name";
  return good;
}

CallReader::Step CallReader::deliver() {
  const bool good = accepts();
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

// ---- streaming a call's arguments ----

CallReader::Step CallReader::begin_arguments(std::string name, std::string id, std::size_t arguments) {
  streaming_ = true;
  Step step{.kind = Kind::begin, .from = given_, .to = element_ + arguments, .call = {.name = std::move(name), .id = std::move(id)}};
  given_ = step.to;
  return step;
}

CallReader::Next CallReader::stream(const JsonScanner& scanner) {
  if (!streams_) return std::nullopt;
  if (!streaming_) return begin_streaming(scanner);
  std::size_t end = element_ + streamable_end(scanner);
  if (end <= given_) return std::nullopt;
  // Blanks are held until more text follows: should the call break off, they may be the format's.
  const std::string_view piece = text_.substr(given_, end - given_);
  end = given_ + without_blanks_at_end(piece.substr(0, piece.size() - unfinished_character(piece))).size();
  if (end <= given_) return std::nullopt;
  Step step{.kind = Kind::arguments, .from = given_, .to = end};
  given_ = end;
  return step;
}

}  // namespace skipstone::chat
