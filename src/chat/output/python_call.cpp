#include <cstdint>
#include <string>
#include <utility>

#include "chat/output/call.h"
#include "chat/output/markers.h"

namespace skipstone::chat {
namespace {

void append_utf8(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
  } else {
    text += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)), static_cast<char>(0x80 | (code & 0x3f))};
  }
}

int hexadecimal(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

/// Python literals to JSON; every function is false where the text is something else.
class Literals {
 public:
  explicit Literals(std::string_view text) : rest_(text) {}

  std::optional<Call> call() {
    Call call{.name = std::string(name())};
    if (call.name.empty() || !skip('(')) return std::nullopt;
    ObjectWriter object;
    while (!skip(')')) {
      const std::string key(name());
      std::string value;
      if (key.empty() || !skip('=') || !literal(value, 1) || !object.add(key, value)) return std::nullopt;
      if (!skip(',') && next() != ')') return std::nullopt;
    }
    if (next() != 0) return std::nullopt;
    if (call.name.ends_with(".call")) call.name.resize(call.name.size() - 5);
    call.arguments = object.finish();
    return call;
  }

  std::optional<std::string> value() {
    std::string json;
    return literal(json, 1) && next() == 0 ? std::optional(std::move(json)) : std::nullopt;
  }

 private:
  static constexpr int deepest = 32;

  char next() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t' || rest_[0] == '\r')) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_[0];
  }

  bool skip(char byte) {
    if (next() != byte) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view name() {
    next();
    std::size_t length = 0;
    while (length < rest_.size() && is_name_byte(rest_[length])) ++length;
    const std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return word;
  }

  bool literal(std::string& json, int depth) {
    if (depth > deepest) return false;
    const char first = next();
    if (first == '"' || first == '\'') return string(json);
    if (first == '[' || first == '(') return list(json, depth);
    if (first == '{') return dictionary(json, depth);
    return word(json);
  }

  bool word(std::string& json) {
    std::size_t length = 0;
    while (length < rest_.size() && (is_name_byte(rest_[length]) || rest_[length] == '+')) ++length;
    const std::string_view text = rest_.substr(0, length);
    rest_.remove_prefix(length);
    const std::optional<std::string> value = text.empty() ? std::nullopt : bare_json(text);
    if (value) json = *value;
    return value.has_value();  // a name is none
  }

  bool list(std::string& json, int depth) {
    const char end = next() == '[' ? ']' : ')';
    rest_.remove_prefix(1);
    json = "[";
    while (!skip(end)) {
      std::string value;
      if (!literal(value, depth + 1)) return false;
      json += (json.size() > 1 ? ", " : "") + value;
      if (!skip(',') && next() != end) return false;
    }
    json += "]";
    return true;
  }

  bool dictionary(std::string& json, int depth) {
    rest_.remove_prefix(1);
    ObjectWriter object;
    while (!skip('}')) {
      std::string key, quoted, value;
      if ((next() != '"' && next() != '\'') || !characters(key) || !skip(':') || !literal(value, depth + 1) || !object.add(key, value))
        return false;
      if (!skip(',') && next() != '}') return false;
    }
    json = object.finish();
    return true;
  }

  bool string(std::string& json) {
    std::string text;
    if (!characters(text)) return false;
    const std::optional<std::string> quoted = json_string(text);
    if (quoted) json = *quoted;
    return quoted.has_value();
  }

  bool characters(std::string& text) {
    const char quote = rest_[0];
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_[0] != quote) {
      const char byte = rest_[0];
      rest_.remove_prefix(1);
      if (byte != '\\') {
        text += byte;
      } else if (!escape(text)) {
        return false;
      }
    }
    return skip(quote);
  }

  bool escape(std::string& text) {
    if (rest_.empty()) return false;
    const char byte = rest_[0];
    rest_.remove_prefix(1);
    switch (byte) {
      case 'n':
        text += '\n';
        return true;
      case 't':
        text += '\t';
        return true;
      case 'r':
        text += '\r';
        return true;
      case '\\':
      case '\'':
      case '"':
        text += byte;
        return true;
      case 'x':
        return code(text, 2);
      case 'u':
        return code(text, 4);
      default:
        text += {'\\', byte};
        return true;  // Python keeps unknown escapes as they are
    }
  }

  bool code(std::string& text, std::size_t digits) {
    if (rest_.size() < digits) return false;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const int digit = hexadecimal(rest_[i]);
      if (digit < 0) return false;
      value = value * 16 + static_cast<std::uint32_t>(digit);
    }
    rest_.remove_prefix(digits);
    append_utf8(text, value);
    return true;
  }

  std::string_view rest_;
};

}  // namespace

bool PythonScanner::step(char byte) {
  if (quote_ != 0) {
    if (escaped_) {
      escaped_ = false;
    } else if (byte == '\\') {
      escaped_ = true;
    } else if (byte == quote_) {
      quote_ = 0;
    }
    return true;
  }
  if (byte == '(' || byte == '[' || byte == '{') {
    if (depth_ == 0 && byte != '(') return false;
    return ++depth_ <= deepest;
  }
  if (depth_ == 0) return is_name_byte(byte) && at_ < 256;
  if (byte == ')' || byte == ']' || byte == '}') {
    done_ = --depth_ == 0;
  } else if (byte == '"' || byte == '\'') {
    quote_ = byte;
  }
  return true;
}

JsonScanner::Status PythonScanner::scan(std::string_view text) {
  while (!done_ && at_ < text.size()) {
    if (!step(text[at_])) return JsonScanner::Status::failed;
    ++at_;
  }
  return done_ ? JsonScanner::Status::done : JsonScanner::Status::more;
}

std::optional<Call> call_from_python(std::string_view text) { return Literals(text).call(); }

std::optional<std::string> json_from_python(std::string_view text) { return Literals(text).value(); }

}  // namespace skipstone::chat
