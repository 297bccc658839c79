#include "chat/output/json_repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "chat/output/markers.h"

namespace skipstone::chat {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> python_words = {
    {{"True", "true"}, {"False", "false"}, {"None", "null"}}};

bool is_word_byte(char byte) { return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '_'; }

class Repair {
 public:
  explicit Repair(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (text_[at_] == '"') {
        string();
      } else if (text_[at_] == ',') {
        comma();
      } else if (is_word_byte(text_[at_])) {
        word();
      } else {
        result_ += text_[at_++];
      }
    }
    return std::move(result_);
  }

 private:
  void string() {
    result_ += text_[at_++];
    while (at_ < text_.size()) {
      const char byte = text_[at_++];
      if (byte == '\\') {
        escape();
      } else if (static_cast<unsigned char>(byte) < 0x20) {
        control_character(byte);
      } else {
        result_ += byte;
        if (byte == '"') return;
      }
    }
  }

  void control_character(char byte) {
    constexpr std::string_view named = "\b\f\n\r\t", letters = "bfnrt";
    const std::size_t which = named.find(byte);
    if (which != std::string_view::npos) {
      result_ += {'\\', letters[which]};
    } else {
      result_ += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
    }
  }

  /// Python and JavaScript read \' as a quote; unknown escapes are two characters, as Python has them.
  void escape() {
    const char byte = at_ < text_.size() ? text_[at_] : '\0';
    constexpr std::string_view simple = "\"\\/bfnrt";
    const std::string_view digits = text_.substr(std::min(at_ + 1, text_.size()), 4);
    const bool code = byte == 'u' && digits.size() == 4 &&
                      std::ranges::all_of(digits, [](char digit) { return std::isxdigit(static_cast<unsigned char>(digit)) != 0; });
    if (code || (byte != '\0' && simple.find(byte) != std::string_view::npos)) {
      result_ += {'\\', byte};
      ++at_;
    } else if (byte != '\'') {
      result_ += "\\\\";
    }
  }

  void comma() {
    const std::size_t next = at_ + 1 + leading_blanks(text_.substr(at_ + 1));
    const bool last = next < text_.size() && (text_[next] == '}' || text_[next] == ']');
    if (!last) result_ += ',';
    ++at_;
  }

  void word() {
    std::size_t end = at_;
    while (end < text_.size() && is_word_byte(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    const auto python = std::ranges::find(python_words, word, [](const auto& pair) { return pair.first; });
    result_ += python == python_words.end() ? word : python->second;
    at_ = end;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::string result_;
};

}  // namespace

std::string repaired_json(std::string_view text) { return Repair(text).run(); }

}  // namespace skipstone::chat
