// Texts that end an answer. They count in the answer itself, not in the reasoning in front of it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/output/markers.h"
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

inline std::string AnswerStops::push(char byte) {
  skips_blanks_ = skips_blanks_ && blanks.find(byte) != std::string_view::npos;
  if (skips_blanks_) return std::string(1, byte);
  std::string certain = watching_.push({&byte, 1});
  held_ += byte;
  held_.erase(0, certain.size());
  if (stopped()) found_ = std::exchange(held_, {});
  return certain;
}

inline std::string AnswerStops::release() {
  if (!held_.empty()) watching_ = fresh_;
  return std::exchange(held_, {});
}

}  // namespace skipstone::chat
