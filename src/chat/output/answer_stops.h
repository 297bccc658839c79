// Texts that end an answer. They count in the answer itself, not in the reasoning in front of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "text/stop_strings.h"

namespace skipstone::chat {

class AnswerStops {
 public:
  /// Throws invalid_argument for texts that StopStrings refuses.
  explicit AnswerStops(std::vector<std::string> texts) : none_(texts.empty()), fresh_(std::move(texts)), watching_(fresh_) {}

  bool none() const { return none_; }
  bool stopped() const { return watching_.stopped(); }
  /// The text that has ended the answer; "" if none has.
  const std::string& found() const { return found_; }

  /// The next byte of the answer. Returns the bytes that certainly are in front of any of the texts.
  std::string push(char byte);

  /// Returns the bytes that are held back: what follows them cannot make them one of the texts.
  std::string release();

  /// Blanks that follow are the format's, not the answer's.
  void skip_blanks() { skips_blanks_ = true; }

 private:
  const bool none_;
  const text::StopStrings fresh_;
  text::StopStrings watching_;
  std::string held_;  ///< pushed, but not returned yet
  std::string found_;
  bool skips_blanks_ = false;
};

}  // namespace skipstone::chat
