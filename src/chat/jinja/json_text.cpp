// json.dumps().
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace skipstone::chat::jinja {
namespace {

/// The escape of a character within a JSON string; "" where it needs none.
std::string escape_of(char32_t code, bool ensure_ascii) {
  switch (code) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\f':
      return "\\f";
    case '\b':
      return "\\b";
    default:
      break;
  }
  const auto number = static_cast<std::uint32_t>(code);
  if (code >= 0x20 && (code < 0x7F || !ensure_ascii)) return "";
  if (code <= 0xFFFF) return fmt::format("\\u{:04x}", number);
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0U + (number >> 10U), 0xDC00U + (number & 0x3FFU));
}

class Writer {
 public:
  Writer(Guard& guard, const JsonStyle& style) : guard_(guard), style_(style) {}

  void write(const Value& value) {
    guard_.step();
    if (const String* string = value.string()) {
      write_string(string->text);
    } else if (const Dict* dict = value.dict()) {
      write_dict(*dict);
    } else if (const Sequence* sequence = value.sequence();
               sequence != nullptr && (sequence->kind == Sequence::Kind::list || sequence->kind == Sequence::Kind::tuple)) {
      write_list(*sequence);
    } else {
      out_.append(scalar(value), value.origin);
    }
  }

  Text take() { return std::move(out_); }

 private:
  void mark(std::string_view text) { out_.append(text, Origin::data); }

  static std::string scalar(const Value& value) {
    if (value.is<None>()) return "null";
    if (const auto* boolean = value.get<bool>()) return *boolean ? "true" : "false";
    if (const auto* integer = value.get<std::int64_t>()) return std::to_string(*integer);
    if (const auto* big = value.get<BigInteger>()) return *big->digits;
    if (const auto* real = value.get<double>()) {
      if (std::isnan(*real)) return "NaN";
      if (std::isinf(*real)) return *real < 0 ? "-Infinity" : "Infinity";
      return real_text(*real);
    }
    fail(Code::invalid_argument, "Object of type {} is not JSON serializable", type_name(value));
  }

  void write_string(const Text& text) {
    guard_.step(text.size() / 16);
    mark("\"");
    const std::string_view bytes = text.bytes();
    std::size_t done = 0;
    for (std::size_t at = 0, size = 0; at < bytes.size(); at += size) {
      size = character_size(bytes, at);
      const std::string escape = static_cast<unsigned char>(bytes[at]) >= 0x80 && !style_.ensure_ascii
                                     ? std::string()
                                     : escape_of(code_point_at(bytes, at), style_.ensure_ascii);
      if (escape.empty()) continue;
      out_.append_part(text, done, at);
      out_.append(escape, text.origin_at(at));
      done = at + size;
    }
    out_.append_part(text, done, bytes.size());
    mark("\"");
  }

  void new_line() {
    mark("\n");
    for (int i = 0; i < depth_; ++i) out_.append(style_.indent);
  }

  template <typename Each>
  void block(const char* open, const char* close, std::size_t count, Each each) {
    mark(open);
    ++depth_;
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out_.append(style_.item_separator);
      if (style_.indented) new_line();
      each(i);
    }
    --depth_;
    if (style_.indented && count > 0) new_line();
    mark(close);
  }

  void write_list(const Sequence& sequence) {
    block("[", "]", sequence.items.size(), [&](std::size_t i) { write(sequence.items[i]); });
  }

  void write_key(const Value& key) {
    if (const String* name = key.string()) {
      write_string(name->text);
      return;
    }
    const bool scalar_key = key.is<None>() || as_real(key).has_value() || key.is<BigInteger>();
    if (!scalar_key) fail(Code::invalid_argument, "keys must be str, int, float, bool or None, not {}", type_name(key));
    out_.append("\"" + scalar(key) + "\"", key.origin);
  }

  void write_dict(const Dict& dict) {
    std::vector<const Dict::Item*> entries;
    for (const Dict::Item& entry : dict.items()) entries.push_back(&entry);
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(), [&](const auto* a, const auto* b) { return less(guard_, a->first, b->first); });
    }
    block("{", "}", entries.size(), [&](std::size_t i) {
      write_key(entries[i]->first);
      out_.append(style_.key_separator);
      write(entries[i]->second);
    });
  }

  Guard& guard_;
  const JsonStyle& style_;
  Text out_;
  int depth_ = 0;
};

}  // namespace

Text to_json(Guard& guard, const Value& value, const JsonStyle& style) {
  Writer writer(guard, style);
  writer.write(value);
  return writer.take();
}

}  // namespace skipstone::chat::jinja
