// The events that a parser of answers emits, and runs of text or reasoning whose blanks at the ends are the format's.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace skipstone::chat {

enum class EventKind {
  text,
  reasoning,
  tool_call_begin,      ///< name and id are known
  tool_call_arguments,  ///< JSON; joined over the call's events, an object
  tool_call_end,
  marker,  ///< the format's own: a tag, white space around one
};

struct Event {
  EventKind kind = EventKind::text;
  std::string raw = {};   ///< the part of the answer that the event covers: joined over all events, these are the answer
  std::string text = {};  ///< content of text, reasoning and arguments
  std::string name = {}, id = {};
  std::string note = {};  ///< why something that looked like a call is none, or what was not closed
  int call = -1;          ///< which call of the answer, from 0
  bool complete = true;   ///< of tool_call_end: false where arguments that were already given broke off; the call is void
};

using Sink = std::function<void(const Event&)>;

/// A run of text or reasoning whose blanks at its ends are the format's, not the text's.
class TrimmedText {
 public:
  /// `blanks`: the characters to trim.
  TrimmedText(EventKind kind, std::string_view blanks, Sink sink) : kind_(kind), blanks_(blanks), sink_(std::move(sink)) {}

  /// `raw`: whole characters. Blanks at the end are held until the next call.
  void put(std::string_view raw, const std::string& note = {});

  /// A marker follows: the held blanks and those after the marker belong to it.
  void trim();

  /// As trim(), but returns the blanks in front of the marker to the caller: the marker may turn out to be text.
  std::string take_blanks();

  /// The marker was text: blanks that follow are part of it.
  void keep() { trims_front_ = false; }

  /// The text is over: the held blanks belong to it, unless it has not begun.
  void finish(const std::string& note = {});

 private:
  void hold(std::string_view raw);
  void emit(EventKind kind, std::string text, const std::string& note = {});

  static constexpr std::size_t most_held = 4096;

  EventKind kind_;
  std::string_view blanks_;
  Sink sink_;
  std::string held_;
  bool trims_front_ = false;
};

}  // namespace skipstone::chat
