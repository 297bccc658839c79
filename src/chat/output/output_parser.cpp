#include "chat/output/output_parser.h"

#include <algorithm>
#include <utility>

#include "chat/output/markers.h"

namespace skipstone::chat {
namespace {

constexpr std::size_t window_bytes = 4096;  // of text that is searched at a time, so that a long chunk takes linear time
constexpr std::size_t most_blanks = 4096;   // in front of a first tag

constexpr std::size_t shortest_limit = 256;  // more than any mark has

constexpr const char* not_closed = "the reasoning was not closed";

}  // namespace

OutputParser::OutputParser(const OutputFormat& format, OutputOptions options, Sink sink)
    : format_(format),
      options_(std::move(options)),
      longest_call_(std::max(options_.longest_call, shortest_limit)),
      sink_(std::move(sink)),
      ids_(format, options_.id_seed, options_.used_ids),
      stops_(options_.stop),
      text_(EventKind::text, blanks, sink_),
      reasoning_(EventKind::reasoning, "\r\n", sink_) {
  if (format.syntax == CallSyntax::channels) {
    call_markers_ = {message_start, message_channel};
    return;
  }
  if (options_.calls.wanted && format.syntax != CallSyntax::none) {
    for (const std::string_view marker : {format.section.open, format.call_open}) {
      if (!marker.empty()) call_markers_.push_back(marker);
    }
  }
  if (options_.reasoning && !format.reasoning[0].open.empty()) {
    phase_ = Phase::start;
    const std::string_view prompt = without_blanks_at_end(options_.prompt);
    for (const Tags& tags : format.reasoning) {
      if (tags.open.empty() || !prompt.ends_with(tags.open)) continue;
      inside_ = true;
      reasoning_closers_ = {tags.close};
      reasoning_.trim();
    }
  }
}

OutputParser::~OutputParser() = default;

/// Any byte may end the reasoning, from where on stop texts count.
void OutputParser::push(std::string_view piece) {
  if (stops_.none()) return push_marker(piece);
  for (std::size_t i = 0; i < piece.size() && !stopped(); ++i) {
    if (in_answer()) {
      buffer_ += stops_.push(piece[i]);
    } else {
      (buffer_ += stops_.release()) += piece[i];
    }
    run();
  }
}

void OutputParser::push_marker(std::string_view marker) {
  if (stopped()) return;
  (buffer_ += stops_.release()) += marker;
  marked_ = dropped_ + buffer_.size();
  run();
}

/// Whether the next byte is the answer's: none of the reasoning, nor of a message's header.
bool OutputParser::in_answer() const {
  if (phase_ == Phase::start || phase_ == Phase::reasoning) return false;
  return format_.syntax != CallSyntax::channels || phase_ != Phase::call || rest().find(message_body) != std::string_view::npos;
}

/// The bytes that were read so far, and are no tag, are the answer's first.
void OutputParser::begin_answer() {
  if (stops_.none()) return;
  const std::string first(rest());
  buffer_.resize(used_);
  const std::size_t marked = std::min(first.size(), marked_ - std::min(marked_, dropped_ + used_));
  buffer_.append(first, 0, marked);
  for (std::size_t i = marked; i < first.size() && !stopped(); ++i) buffer_ += stops_.push(first[i]);
  if (ended_) buffer_ += stops_.release();
}

void OutputParser::finish() {
  buffer_ += stops_.release();
  ended_ = true;
  run();
  if (phase_ == Phase::reasoning) {
    reasoning_.trim();
    emit({.kind = EventKind::reasoning, .note = not_closed});
  }
  text_.finish();
}

void OutputParser::run() {
  while (used_ < buffer_.size() && step()) {
  }
  buffer_.erase(0, used_);
  dropped_ += used_;
  used_ = 0;
}

/// False where more of the answer is needed.
bool OutputParser::step() {
  switch (phase_) {
    case Phase::start:
      return step_start();
    case Phase::reasoning:
      return step_reasoning();
    case Phase::lead:
      return step_lead();
    case Phase::text:
      return call_closers_.empty() ? step_text() : step_closer();
    case Phase::call:
      return step_call();
  }
  return false;
}

void OutputParser::emit_marker(std::size_t bytes) {
  emit({.kind = EventKind::marker, .raw = std::string(rest().substr(0, bytes))});
  used_ += bytes;
}

/// Reasoning begins at the very start or nowhere. A model may open it although the prompt has done so.
bool OutputParser::step_start() {
  const std::size_t space = leading_blanks(rest().substr(0, most_blanks));
  const std::string_view after = rest().substr(space);
  if (after.empty() && !ended_) return false;
  for (const Tags& tags : format_.reasoning) {
    const Match matched = match(after, tags.open, ended_);
    if (matched == Match::undecided) return false;
    if (matched == Match::no) continue;
    emit_marker(space + tags.open.size());
    reasoning_closers_ = {tags.close};
    reasoning_.trim();
    phase_ = Phase::reasoning;
    return true;
  }
  phase_ = inside_ ? Phase::reasoning : Phase::lead;
  if (!inside_) begin_answer();
  return true;
}

bool OutputParser::step_reasoning() {
  const std::string_view window = rest().substr(0, window_bytes);
  const bool last = ended_ && window.size() == rest().size();
  const FoundMarker found = find_marker(window, reasoning_closers_);
  if (found.at == std::string_view::npos) {
    const std::size_t decided = window.size() - (last ? 0 : undecided_bytes(window, reasoning_closers_));
    reasoning_.put(window.substr(0, decided));
    used_ += decided;
    return decided > 0;
  }
  reasoning_.put(window.substr(0, found.at));
  used_ += found.at;
  reasoning_.trim();
  const bool next_header = found.marker == message_start || found.marker == message_channel;
  if (!next_header) emit_marker(found.marker.size());
  text_.trim();
  stops_.skip_blanks();
  phase_ = format_.syntax == CallSyntax::channels ? Phase::text : Phase::lead;
  return true;
}

/// Tags around the text, and answers that are calls without any mark.
bool OutputParser::step_lead() {
  const std::size_t space = leading_blanks(rest().substr(0, most_blanks));
  const std::string_view after = rest().substr(space);
  if (after.empty() && !ended_) return false;
  const Match in_tags = match(after, format_.content.open, ended_);
  if (in_tags == Match::undecided) return false;
  if (in_tags == Match::yes) {
    emit_marker(space + format_.content.open.size());
    text_closers_ = {format_.content.close};
    text_.trim();
    stops_.skip_blanks();
  } else if (format_.syntax == CallSyntax::channels) {
    const Match recipient = match(after, message_recipient, ended_);
    if (recipient == Match::undecided) return false;
    if (recipient == Match::yes && space < longest_call_) {
      begin_call(CallStart::header, space);
      return true;
    }
  } else if (format_.bare && options_.calls.wanted && options_.calls.tools) {
    return step_bare(space);
  }
  phase_ = Phase::text;
  return true;
}

bool OutputParser::step_bare(std::size_t space) {
  const Match prefix = match(rest().substr(space), format_.bare_prefix, ended_);
  if (prefix == Match::undecided) return false;
  std::size_t at = space + (prefix == Match::yes ? format_.bare_prefix.size() : 0);
  at += leading_blanks(rest().substr(at, most_blanks));
  if (at == rest().size() && !ended_ && prefix == Match::yes) return false;
  const char first = at < rest().size() ? rest()[at] : '\0';
  const bool source = prefix == Match::yes && format_.python && is_name_byte(first);
  // "[TOOL_CALLS]" begins like a list.
  const Match marked = match(rest().substr(at), format_.section.open, ended_);
  if (marked == Match::undecided && first == '[') return false;
  if (at < longest_call_ && marked != Match::yes && (first == '{' || first == '[' || source)) {
    begin_call(CallStart::bare, at);
    return true;
  }
  phase_ = Phase::text;
  return true;
}

/// After a call: blanks and closing markers, until something else comes.
bool OutputParser::step_closer() {
  const std::size_t space = leading_blanks(rest());
  if (space > 0) {
    text_.put(rest().substr(0, space));
    used_ += space;
    return true;
  }
  for (const std::string_view closer : call_closers_) {
    const Match matched = match(rest(), closer, ended_);
    if (matched == Match::undecided) return false;
    if (matched == Match::no) continue;
    text_.trim();
    emit_marker(closer.size());
    call_closers_.erase(call_closers_.begin(), std::ranges::find(call_closers_, closer) + 1);
    return true;
  }
  call_closers_.clear();
  return true;
}

bool OutputParser::step_text() {
  const std::string_view window = rest().substr(0, window_bytes);
  const bool last = ended_ && window.size() == rest().size();
  std::vector<std::string_view> markers = call_markers_;
  markers.insert(markers.end(), text_closers_.begin(), text_closers_.end());
  const FoundMarker found = find_marker(window, markers);
  if (found.at == std::string_view::npos) {
    const std::size_t decided = window.size() - (last ? 0 : undecided_bytes(window, markers));
    text_.put(window.substr(0, decided));
    used_ += decided;
    return decided > 0;
  }
  text_.put(window.substr(0, found.at));
  used_ += found.at;
  if (std::ranges::find(text_closers_, found.marker) != text_closers_.end()) {
    text_.trim();
    emit_marker(found.marker.size());
    text_closers_.clear();
  } else if (format_.syntax == CallSyntax::channels) {
    begin_call(CallStart::header, found.marker.size());
  } else {
    begin_call(found.marker == format_.section.open ? CallStart::section : CallStart::call, found.marker.size());
  }
  return true;
}

void OutputParser::begin_call(CallStart start, std::size_t marker_bytes) {
  reader_ = CallReader::make(format_, options_.calls, start, marker_bytes);
  phase_ = Phase::call;
}

bool OutputParser::step_call() {
  const std::string_view held = rest().substr(0, longest_call_);
  CallReader::Step step = reader_->next(held, ended_ && held.size() == rest().size());
  if (step.kind == CallReader::Kind::more) {
    if (held.size() < longest_call_) return false;
    step = reader_->give_up("a call is too long to be held back");
  }
  take(step);
  used_ += step.bytes;
  return true;
}

void OutputParser::take(const CallReader::Step& step) {
  using Kind = CallReader::Kind;
  switch (step.kind) {
    case Kind::more:
      break;
    case Kind::text:
      text_.put(piece(step), step.note);
      break;
    case Kind::marker:
      text_.trim();
      emit({.kind = EventKind::marker, .raw = piece(step)});
      break;
    case Kind::call:
      emit_call(step);
      break;
    case Kind::begin:
    case Kind::arguments:
    case Kind::end:
    case Kind::broken:
      emit_piece(step);
      break;
    case Kind::reasoning:
    case Kind::content:
      text_.trim();
      emit({.kind = EventKind::marker, .raw = piece(step)});
      text_closers_.clear();
      if (step.kind == Kind::reasoning && options_.reasoning) {
        reasoning_closers_.assign(message_ends.begin(), message_ends.end());
        reasoning_closers_.insert(reasoning_closers_.end(), {message_start, message_channel});
        reasoning_.trim();
        phase_ = Phase::reasoning;
      } else {
        text_closers_.assign(message_ends.begin(), message_ends.end());
        stops_.skip_blanks();
        phase_ = Phase::text;
      }
      break;
    case Kind::done:
      phase_ = Phase::text;
      call_closers_.clear();
      if (reader_->found_call()) {
        for (const std::string_view closer :
             {format_.syntax == CallSyntax::tagged ? std::string_view() : format_.call_close, format_.section.close}) {
          if (!closer.empty()) call_closers_.push_back(closer);
        }
      }
      break;
  }
}

void OutputParser::emit_call(const CallReader::Step& step) {
  text_.trim();
  const std::string raw = piece(step);
  const Call& call = step.call;
  // The arguments event gets the raw text where that contains the arguments word for word.
  const std::size_t from = call.arguments_bytes == 0 ? raw.size() : call.arguments_at, to = from + call.arguments_bytes;
  emit({.kind = EventKind::tool_call_begin,
        .raw = raw.substr(0, from),
        .name = call.name,
        .id = ids_.next(call, dropped_ + used_),
        .call = calls_});
  emit({.kind = EventKind::tool_call_arguments, .raw = raw.substr(from, to - from), .text = call.arguments, .call = calls_});
  emit({.kind = EventKind::tool_call_end, .raw = raw.substr(to), .call = calls_});
  ++calls_;
}

/// Emits a step of a call whose arguments are streamed.
void OutputParser::emit_piece(const CallReader::Step& step) {
  Event event{.raw = piece(step), .note = step.note, .call = calls_};
  if (step.kind == CallReader::Kind::begin) {
    event.raw.insert(0, text_.take_blanks());
    event.kind = EventKind::tool_call_begin;
    event.name = step.call.name;
    event.id = ids_.next(step.call, dropped_ + used_);
  } else if (step.kind == CallReader::Kind::arguments) {
    event.kind = EventKind::tool_call_arguments;
    event.text = event.raw;
  } else {
    event.kind = EventKind::tool_call_end;
    ++calls_;
    if (step.kind == CallReader::Kind::broken) {
      // The streamed part of the call is content now, and so it may end with blanks that are not.
      const std::string after = event.raw.substr(without_blanks_at_end(event.raw).size());
      event.raw.resize(event.raw.size() - after.size());
      event.complete = false;
      emit(event);
      text_.keep();
      text_.put(after);
      return;
    }
  }
  emit(event);
}

}  // namespace skipstone::chat
