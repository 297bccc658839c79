// A run of text or reasoning whose blanks at its ends are the format's, not the text's.
#pragma once

#include <string>
#include <string_view>

#include "chat/output/event.h"

namespace skipstone::chat {

class TrimmedText {
 public:
  /// `blanks`: what is trimmed.
  TrimmedText(EventKind kind, std::string_view blanks, Sink sink) : kind_(kind), blanks_(blanks), sink_(std::move(sink)) {}

  /// Whole characters. Blanks at the end wait for what follows.
  void put(std::string_view raw, const std::string& note = {});

  /// A marker comes: the blanks that wait are its own, and so are those that follow it.
  void trim();

  /// As trim(), but the blanks in front of the marker are the caller's to give on: the marker may turn out to be text.
  std::string take_blanks();

  /// It was text: blanks that follow are part of it.
  void keep() { trims_front_ = false; }

  /// The text is over: the blanks that wait are its own, unless it has not begun.
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
