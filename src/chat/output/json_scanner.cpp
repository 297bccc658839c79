#include "chat/output/json_scanner.h"

#include <algorithm>

namespace skipstone::chat {
namespace {

constexpr std::size_t most_members = 16;

bool is_blank(char byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

/// Whether `byte` can be part of a number, true, false or null.
bool is_word(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '-' || byte == '+' ||
         byte == '.';
}

}  // namespace

JsonScanner::Status JsonScanner::scan(std::string_view text) {
  while (!done_ && at_ < text.size()) {
    if (!step(text[at_])) return Status::failed;
    ++at_;
  }
  return done_ ? Status::done : Status::more;
}

void JsonScanner::end_value(std::size_t after) {
  expect_ = Expect::comma_or_end;
  if (depth_ == 1 && in_object() && !members_.empty() && members_.back().value != 0 && members_.back().value_end == 0) {
    members_.back().value_end = after;
  }
}

bool JsonScanner::tolerate(std::size_t at) {
  if (tolerant_) damaged_at_ = std::min(damaged_at_, at);
  return tolerant_;
}

bool JsonScanner::open(char byte) {
  if (depth_ == deepest) return false;
  const std::uint64_t bit = std::uint64_t{1} << depth_;
  objects_ = byte == '{' ? objects_ | bit : objects_ & ~bit;
  ++depth_;
  expect_ = byte == '{' ? Expect::key_or_end : Expect::value_or_end;
  return true;
}

bool JsonScanner::close(char byte) {
  if (depth_ == 0 || in_object() != (byte == '}')) return false;
  if (expect_ == (byte == '}' ? Expect::key : Expect::value)) {  // after a comma
    if (!tolerate(comma_)) return false;
  } else if (expect_ != Expect::comma_or_end && expect_ != (byte == '}' ? Expect::key_or_end : Expect::value_or_end)) {
    return false;
  }
  --depth_;
  if (depth_ == 0) {
    done_ = true;
  } else {
    end_value(at_ + 1);
  }
  return true;
}

bool JsonScanner::begin_value(char byte) {
  if (depth_ == 1 && in_object() && !members_.empty() && members_.back().value == 0) members_.back().value = at_;
  if (byte == '{' || byte == '[') return open(byte);
  if (depth_ == 0) return false;
  if (byte == '"') {
    in_string_ = true;
    key_string_ = false;
    return true;
  }
  in_word_ = is_word(byte);
  return in_word_;
}

bool JsonScanner::step(char byte) {
  if (in_string_) {
    if (static_cast<unsigned char>(byte) < 0x20 && !tolerate(at_)) return false;
    if (escaped_) {
      escaped_ = false;
    } else if (byte == '\\') {
      escaped_ = true;
    } else if (byte == '"') {
      in_string_ = false;
      if (key_string_) {
        expect_ = Expect::colon;
        if (depth_ == 1 && members_.back().key_end == 0) members_.back().key_end = at_ + 1;
      } else {
        end_value(at_ + 1);
      }
    }
    return true;
  }
  if (in_word_) {
    if (is_word(byte)) return true;
    in_word_ = false;
    end_value(at_);
  }
  if (is_blank(byte)) return true;
  if (byte == '}' || byte == ']') return close(byte);
  switch (expect_) {
    case Expect::value:
    case Expect::value_or_end:
      return begin_value(byte);
    case Expect::key:
    case Expect::key_or_end:
      if (byte != '"') return false;
      in_string_ = key_string_ = true;
      if (depth_ == 1 && members_.size() < most_members) members_.push_back({.key = at_});
      return true;
    case Expect::colon:
      expect_ = Expect::value;
      return byte == ':';
    case Expect::comma_or_end:
      comma_ = at_;
      expect_ = in_object() ? Expect::key : Expect::value;
      return byte == ',';
  }
  return false;
}

}  // namespace skipstone::chat
