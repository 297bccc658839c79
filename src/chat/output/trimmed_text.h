// A run of text or reasoning whose blanks at its ends are the format's, not the text's.
#pragma once

#include <string>
#include <string_view>

#include "chat/output/event.h"

namespace skipstone::chat {

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
