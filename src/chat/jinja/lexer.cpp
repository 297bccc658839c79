#include "chat/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/escape.h"
#include "base/status.h"
#include "chat/jinja/guard.h"
#include "chat/jinja/unicode.h"
#include "text/tokenizer.h"

namespace skipstone::chat::jinja {

void fail_at(Position at, const std::string& what) { fail(Code::invalid_argument, "line {}, column {}: {}", at.line, at.column, what); }

namespace {

/// Line ends as "\n", and one at the end of the source dropped.
std::string normalized(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      text += source[i];
    }
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalized(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) text_and_tag();
    push(Token::Kind::end, "", at_);
    return std::move(tokens_);
  }

 private:
  bool starts(std::string_view what) const { return std::string_view(source_).substr(at_, what.size()) == what; }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  /// The position of a byte at or after the last one that was asked for.
  Position position(std::size_t byte) {
    for (; counted_ < byte; ++counted_) {
      if (source_[counted_] == '\n') {
        ++position_.line;
        position_.column = 1;
      } else if ((static_cast<unsigned char>(source_[counted_]) & 0xC0U) != 0x80U) {
        ++position_.column;
      }
    }
    return position_;
  }

  void push(Token::Kind kind, std::string value, std::size_t byte) {
    tokens_.push_back({kind, std::move(value), position(byte)});
    if (tokens_.size() > most_nodes) fail_at(tokens_.back().at, "the template has more than " + std::to_string(most_nodes) + " parts");
  }

  void text_and_tag() {
    const std::size_t begin = at_;
    std::size_t tag = source_.find('{', begin);
    while (tag != std::string::npos &&
           (tag + 1 >= source_.size() || std::string_view("%{#").find(source_[tag + 1]) == std::string_view::npos)) {
      tag = source_.find('{', tag + 1);
    }
    if (tag == std::string::npos) {
      push(Token::Kind::text, source_.substr(begin), begin);
      at_ = source_.size();
      return;
    }
    const char kind = source_[tag + 1];
    at_ = tag + 2;
    const char sign = peek() == '-' || peek() == '+' ? peek() : '\0';
    if (sign != '\0') ++at_;
    push_text(begin, tag, sign, kind != '{');
    if (kind == '#') {
      skip_comment(tag);
    } else if (kind == '%' && is_raw()) {
      raw(tag);
    } else {
      push(kind == '{' ? Token::Kind::output_begin : Token::Kind::block_begin, "", tag);
      inside(kind == '{', tag);
    }
  }

  /// Pushes the text before a tag, without the white space that the tag takes.
  void push_text(std::size_t begin, std::size_t end, char sign, bool takes_indent) {
    std::size_t stop = end;
    if (sign == '-') {
      stop = begin + strip_end(std::string_view(source_).substr(begin, end - begin));
    } else if (sign != '+' && takes_indent) {
      const std::size_t newline = source_.rfind('\n', end == 0 ? 0 : end - 1);
      const bool has_newline = end > begin && newline != std::string::npos && newline >= begin;
      const std::size_t line = has_newline ? newline + 1 : begin;
      if ((has_newline || line_start_) && is_space(std::string_view(source_).substr(line, end - line))) stop = line;
    }
    if (stop > begin) push(Token::Kind::text, source_.substr(begin, stop - begin), begin);
  }

  static bool is_space(std::string_view text) { return strip_begin(text) == text.size(); }

  /// After "%}" or "#}" one newline is dropped; after "-%}" all white space.
  void after_block(char sign) {
    if (sign == '-') {
      skip_space();
    } else if (sign != '+' && peek() == '\n') {
      ++at_;
    }
    line_start_ = at_ > 0 && source_[at_ - 1] == '\n';
  }

  void skip_space() { at_ += strip_begin(std::string_view(source_).substr(at_)); }

  void skip_comment(std::size_t tag) {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) fail_at(position(tag), "the comment that begins here does not end");
    const char sign = end > at_ && (source_[end - 1] == '-' || source_[end - 1] == '+') ? source_[end - 1] : '\0';
    at_ = end + 2;
    after_block(sign);
  }

  bool is_raw() const {
    std::size_t i = at_;
    i += strip_begin(std::string_view(source_).substr(i));
    if (source_.compare(i, 3, "raw") != 0) return false;
    i += 3;
    i += strip_begin(std::string_view(source_).substr(i));
    return source_.compare(i, 2, "%}") == 0 || source_.compare(i, 3, "-%}") == 0;
  }

  /// {% raw %} ... {% endraw %}
  void raw(std::size_t tag) {
    at_ = source_.find("%}", at_);
    const bool strips = source_[at_ - 1] == '-';
    at_ += 2;
    if (strips) skip_space();
    const std::size_t begin = at_;
    for (std::size_t end = source_.find("{%", begin); end != std::string::npos; end = source_.find("{%", end + 1)) {
      at_ = end + 2;
      const char sign = peek() == '-' || peek() == '+' ? peek() : '\0';
      if (sign != '\0') ++at_;
      skip_space();
      if (!starts("endraw")) continue;
      at_ += 6;
      skip_space();
      const char last = peek() == '-' || peek() == '+' ? peek() : '\0';
      if (last != '\0') ++at_;
      if (!starts("%}")) continue;
      at_ += 2;
      line_start_ = false;
      push_text(begin, end, sign, true);
      after_block(last);
      return;
    }
    fail_at(position(tag), "the raw block that begins here does not end");
  }

  /// Everything up to the end of a tag.
  void inside(bool output, std::size_t tag) {
    const std::string_view close = output ? "}}" : "%}";
    std::string open;  // brackets
    while (true) {
      skip_space();
      if (at_ >= source_.size())
        fail_at(position(tag), output ? "the output that begins here does not end" : "the block that begins here does not end");
      if (open.empty() && ends_tag(close, output)) return;
      token(open);
    }
  }

  bool ends_tag(std::string_view close, bool output) {
    const bool sign = peek() == '-' || (peek() == '+' && !output);
    if (std::string_view(source_).substr(at_ + (sign ? 1 : 0), 2) != close) return false;
    const char how = sign ? peek() : '\0';
    push(output ? Token::Kind::output_end : Token::Kind::block_end, "", at_);
    at_ += sign ? 3 : 2;
    if (!output) {
      after_block(how);
    } else {
      if (how == '-') skip_space();
      line_start_ = how == '-' && source_[at_ - 1] == '\n';
    }
    return true;
  }

  void token(std::string& open) {
    const char c = peek();
    const std::size_t begin = at_;
    if (is_digit(c)) {
      number();
    } else if (is_name_start(c)) {
      while (at_ < source_.size() && (is_name_start(peek()) || is_digit(peek()))) ++at_;
      push(Token::Kind::name, source_.substr(begin, at_ - begin), begin);
    } else if (c == '"' || c == '\'') {
      string_literal(c);
    } else {
      symbol(open);
    }
  }

  void string_literal(char quote) {
    const std::size_t begin = at_++;
    while (at_ < source_.size() && source_[at_] != quote) at_ += source_[at_] == '\\' ? 2 : 1;
    if (at_ >= source_.size()) fail_at(position(begin), "the string that begins here does not end");
    push(Token::Kind::string, unescaped(std::string_view(source_).substr(begin + 1, at_ - begin - 1)), begin);
    ++at_;
  }

  void digits() {
    while (is_digit(peek()) || (peek() == '_' && is_digit(peek(1)))) ++at_;
  }

  void number() {
    const std::size_t begin = at_;
    if (peek() == '0' && std::string_view("xXoObB").find(peek(1)) != std::string_view::npos && peek(1) != '\0') return based_number();
    digits();
    bool real = false;
    const auto exponent = [&] {
      if (peek() != 'e' && peek() != 'E') return;
      const std::size_t skip = peek(1) == '+' || peek(1) == '-' ? 2 : 1;
      if (!is_digit(peek(skip))) return;
      at_ += skip;
      digits();
      real = true;
    };
    const bool after_dot = begin > 0 && source_[begin - 1] == '.';
    if (!after_dot && peek() == '.' && is_digit(peek(1))) {
      ++at_;
      digits();
      real = true;
    }
    if (!after_dot) exponent();
    push_number(real ? Token::Kind::real : Token::Kind::integer, begin);
  }

  void push_number(Token::Kind kind, std::size_t begin) {
    std::string value = source_.substr(begin, at_ - begin);
    value.erase(std::remove(value.begin(), value.end(), '_'), value.end());
    if (kind == Token::Kind::integer && value[0] == '0' && value.find_first_not_of('0') != std::string::npos) {
      fail_at(position(begin), "a number cannot begin with 0");
    }
    push(kind, std::move(value), begin);
  }

  void based_number() {
    const std::size_t begin = at_;
    const int base = (peek(1) | 0x20) == 'x' ? 16 : (peek(1) | 0x20) == 'o' ? 8 : 2;
    at_ += 2;
    std::uint64_t value = 0;
    std::size_t count = 0;
    for (; digit_value(peek()) < base || (peek() == '_' && digit_value(peek(1)) < base); ++at_) {
      if (peek() == '_') continue;
      value = value * static_cast<std::uint64_t>(base) + static_cast<std::uint64_t>(digit_value(peek()));
      if (++count > 15) fail_at(position(begin), "the number is too large");
    }
    if (count == 0) fail_at(position(begin), "the number has no digits");
    push(Token::Kind::integer, std::to_string(value), begin);
  }

  void symbol(std::string& open) {
    static constexpr std::array<std::string_view, 28> symbols = {"**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/",
                                                                 "%",  "~",  "[",  "]",  "(",  ")",  "{", "}", "<", ">",
                                                                 "=",  ".",  ":",  ",",  "|",  ";",  "!", "&"};
    const auto found = std::find_if(symbols.begin(), symbols.end(), [&](std::string_view s) { return starts(s); });
    if (found == symbols.end() || *found == "!" || *found == "&") {
      fail_at(position(at_), fmt::format("'{}' has no meaning here", escaped(std::string(1, peek()))));
    }
    const char c = (*found)[0];
    if (found->size() == 1 && std::string_view("([{").find(c) != std::string_view::npos) open += c;
    if (found->size() == 1 && std::string_view(")]}").find(c) != std::string_view::npos) {
      const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
      if (open.empty() || open.back() != wanted) fail_at(position(at_), fmt::format("'{}' closes nothing", c));
      open.pop_back();
    }
    push(Token::Kind::symbol, std::string(*found), at_);
    at_ += found->size();
  }

  std::string source_;
  std::size_t at_ = 0;
  bool line_start_ = true;  ///< whether the text that comes next begins a line
  std::size_t counted_ = 0;
  Position position_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) {
  if (source.size() > most_source_bytes) {
    fail(Code::invalid_argument, "the template has {} bytes; {} are the most that one may have", source.size(), most_source_bytes);
  }
  if (const std::size_t wrong = text::find_invalid_utf8(source); wrong != std::string_view::npos) {
    fail(Code::invalid_argument, "the template is not UTF-8: byte {} starts no valid character", wrong);
  }
  return Lexer(source).run();
}

}  // namespace skipstone::chat::jinja
