#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/status.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace skipstone::chat::jinja {

std::string real_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto scientific = std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::scientific);
  const std::string_view written(buffer, static_cast<std::size_t>(scientific.ptr - buffer));
  const int exponent = std::atoi(std::string(written.substr(written.find('e') + 1)).c_str());
  if (exponent < -4 || exponent >= 16) return std::string(written);
  const auto fixed = std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::fixed);
  std::string text(buffer, static_cast<std::size_t>(fixed.ptr - buffer));
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

namespace {

std::string number_text(const Value& value) {
  if (const auto* boolean = value.get<bool>()) return *boolean ? "True" : "False";
  if (const auto* integer = value.get<std::int64_t>()) return std::to_string(*integer);
  if (const auto* big = value.get<BigInteger>()) return *big->digits;
  return real_text(*value.get<double>());
}

/// Separators between parts of data are data as well: no special token begins with a message's bracket.
void append_mark(Text& out, std::string_view mark) { out.append(mark, Origin::data); }

void represent_string(Guard& guard, const Text& text, Text& out) {
  guard.step(text.size() / 8);
  const std::string_view bytes = text.bytes();
  const char quote = bytes.find('\'') != std::string_view::npos && bytes.find('"') == std::string_view::npos ? '"' : '\'';
  append_mark(out, std::string_view(&quote, 1));
  for (std::size_t at = 0, size = 0; at < bytes.size(); at += size) {
    size = character_size(bytes, at);
    const char c = bytes[at];
    if (c == quote || c == '\\') {
      out.append(std::string("\\") + c, text.origin_at(at));
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out.append(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t", text.origin_at(at));
    } else if (is_printable(bytes.substr(at, size))) {
      out.append_part(text, at, at + size);
    } else {
      const char32_t code = code_point_at(bytes, at);
      const auto number = static_cast<std::uint32_t>(code);
      out.append(code <= 0xFF     ? fmt::format("\\x{:02x}", number)
                 : code <= 0xFFFF ? fmt::format("\\u{:04x}", number)
                                  : fmt::format("\\U{:08x}", number),
                 text.origin_at(at));
    }
  }
  append_mark(out, std::string_view(&quote, 1));
}

void represent(Guard& guard, const Value& value, Text& out);

void represent_items(Guard& guard, const std::vector<Value>& items, Text& out) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) append_mark(out, ", ");
    represent(guard, items[i], out);
  }
}

void represent_sequence(Guard& guard, const Sequence& sequence, Text& out) {
  switch (sequence.kind) {
    case Sequence::Kind::list:
      append_mark(out, "[");
      represent_items(guard, sequence.items, out);
      append_mark(out, "]");
      return;
    case Sequence::Kind::tuple:
      append_mark(out, "(");
      represent_items(guard, sequence.items, out);
      append_mark(out, sequence.items.size() == 1 ? ",)" : ")");
      return;
    case Sequence::Kind::range: {
      const auto at = [&](std::size_t i) { return *sequence.items[i].get<std::int64_t>(); };
      const std::size_t size = sequence.items.size();
      const std::int64_t step = size > 1 ? at(1) - at(0) : 1;
      append_mark(out, size == 0   ? "range(0, 0)"
                       : step == 1 ? fmt::format("range({}, {})", at(0), at(size - 1) + 1)
                                   : fmt::format("range({}, {}, {})", at(0), at(size - 1) + step, step));
      return;
    }
    case Sequence::Kind::generator:
      append_mark(out, "<generator object>");
      return;
    default:
      append_mark(out,
                  std::string(type_name(Value(std::make_shared<const Sequence>(sequence.kind, std::vector<Value>{}, nullptr)))) + "([");
      represent_items(guard, sequence.items, out);
      append_mark(out, "])");
  }
}

void represent_dict(Guard& guard, const Dict& dict, Text& out) {
  append_mark(out, "{");
  bool first = true;
  for (const Dict::Item& entry : dict.items()) {
    if (!std::exchange(first, false)) append_mark(out, ", ");
    represent(guard, entry.first, out);
    append_mark(out, ": ");
    represent(guard, entry.second, out);
  }
  append_mark(out, "}");
}

void represent(Guard& guard, const Value& value, Text& out) {
  guard.step();
  if (const String* string = value.string()) {
    if (string->markup) append_mark(out, "Markup(");
    represent_string(guard, string->text, out);
    if (string->markup) append_mark(out, ")");
  } else if (const Sequence* sequence = value.sequence()) {
    represent_sequence(guard, *sequence, out);
  } else if (const Dict* dict = value.dict()) {
    represent_dict(guard, *dict, out);
  } else if (value.is<None>()) {
    out.append("None", value.origin);
  } else if (value.is<Undefined>()) {
    append_mark(out, "Undefined");
  } else if (value.is<NamespaceRef>() || value.is<CallableRef>() || value.is<LoopRef>()) {
    append_mark(out, std::string("<") + type_name(value) + ">");
  } else {
    out.append(number_text(value), value.origin);
  }
}

}  // namespace

Text represented(Guard& guard, const Value& value) {
  Text out;
  represent(guard, value, out);
  return out;
}

Text printed(Guard& guard, const Value& value) {
  if (const String* string = value.string()) return string->text;
  if (value.is<Undefined>()) return {};
  return represented(guard, value);
}

}  // namespace skipstone::chat::jinja
