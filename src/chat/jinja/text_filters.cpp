// Filters that give texts and numbers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/elementary.h"
#include "base/status.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/lexer.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace skipstone::chat::jinja {

Text html_escaped(const Value& value) {
  if (value.string() == nullptr) return {};
  const Text& text = value.string()->text;
  if (value.string()->markup) return text;
  Text out;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char* name = nullptr;
    switch (text.bytes()[at]) {
      case '&':
        name = "&amp;";
        break;
      case '<':
        name = "&lt;";
        break;
      case '>':
        name = "&gt;";
        break;
      case '\'':
        name = "&#39;";
        break;
      case '"':
        name = "&#34;";
        break;
      default:
        continue;
    }
    out.append_part(text, done, at);
    out.append(name, text.origin_at(at));
    done = at + 1;
  }
  out.append_part(text, done, text.size());
  return out;
}

namespace {

bool is_markup(const FilterCall& call) { return call.input.string() != nullptr && call.input.string()->markup; }

Value string_filter(const FilterCall& call) {
  call.arguments.bind(call.name, {});
  return call.text(printed(call.guard, call.input), is_markup(call));
}

Value safe(const FilterCall& call) { return call.text(printed(call.guard, call.input), true); }

Value escape(const FilterCall& call) {
  const Value text = call.text(printed(call.guard, call.input), is_markup(call));
  call.guard.step(text.string()->text.size() / 16);
  return call.text(html_escaped(text), true);
}

Value trim(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"chars"});
  if (call.input.string() != nullptr) call.guard.step(call.input.string()->text.size() / 32);
  return call.text(stripped(printed(call.guard, call.input), bound[0], true, true), is_markup(call));
}

Value recase(const FilterCall& call) {
  call.arguments.bind(call.name, {});
  const Text text = printed(call.guard, call.input);
  call.guard.step(text.size() / 4);
  return call.text(recased(text, call.name == "upper"   ? Casing::upper
                                 : call.name == "lower" ? Casing::lower
                                                        : Casing::capitalized),
                   is_markup(call));
}

/// Words begin after white space, hyphens and opening brackets, unlike str.title().
Value title(const FilterCall& call) {
  const Text text = printed(call.guard, call.input);
  const std::string_view bytes = text.bytes();
  call.guard.step(text.size() / 4);
  Text out;
  bool begins = true;
  for (std::size_t at = 0, size = 0; at < bytes.size(); at += size) {
    size = character_size(bytes, at);
    out.append(with_case(bytes.substr(at, size), begins ? Letters::upper : Letters::lower), text.origin_at(at));
    begins = is_white_space(code_point_at(bytes, at)) || std::string_view("-([{<").find(bytes[at]) != std::string_view::npos;
  }
  return call.text(std::move(out));
}

Value replace(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"old", "new", "count"});
  if (bound[0] == nullptr || bound[1] == nullptr) fail(Code::invalid_argument, "the filter 'replace' needs two arguments");
  const Text what = printed(call.guard, *bound[0]);
  return call.text(
      replaced(call.guard, printed(call.guard, call.input), what.bytes(), printed(call.guard, *bound[1]), integer_or(bound[2], -1)));
}

Value tojson(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = true_or(bound[0], false);
  style.sort_keys = true_or(bound[3], false);
  if (bound[1] != nullptr && !bound[1]->is<None>()) {
    style.indented = true;
    if (bound[1]->string() != nullptr) {
      style.indent = bound[1]->string()->text;
    } else {
      const std::int64_t width = std::max<std::int64_t>(0, integer(*bound[1], "the indent"));
      if (width > 1000) fail(Code::invalid_argument, "an indent of {} is too wide", width);
      style.indent = Text(std::string(static_cast<std::size_t>(width), ' '), Origin::data);
    }
  }
  style.item_separator = Text(style.indented ? "," : ", ", Origin::data);
  style.key_separator = Text(": ", Origin::data);
  if (bound[2] != nullptr && !bound[2]->is<None>()) {
    const Sequence* two = bound[2]->sequence();
    if (two == nullptr || two->items.size() != 2) fail(Code::invalid_argument, "separators must be a tuple of two strings");
    style.item_separator = string_argument(two->items[0], "a separator").text;
    style.key_separator = string_argument(two->items[1], "a separator").text;
  }
  return call.text(to_json(call.guard, call.input, style));
}

Value indent(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"width", "first", "blank"});
  const Text input = string_argument(call.input, "the text to indent").text;
  Text width(std::string(4, ' '), Origin::template_text);
  if (bound[0] != nullptr && bound[0]->string() != nullptr) {
    width = bound[0]->string()->text;
  } else if (bound[0] != nullptr) {
    const std::int64_t count = std::clamp<std::int64_t>(integer(*bound[0], "the width"), 0, 10000);
    width = Text(std::string(static_cast<std::size_t>(count), ' '), Origin::template_text);
  }
  Text with_end = input;
  with_end.append("\n", Origin::template_text);
  const std::vector<Value> lines = lines_of(call.guard, with_end, false, false);
  Text out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    call.guard.step();
    if (i > 0) out.append("\n", Origin::template_text);
    const Text& line = lines[i].string()->text;
    if (i == 0 ? true_or(bound[1], false) : (!line.empty() || true_or(bound[2], false))) out.append(width);
    out.append(line);
  }
  return call.text(std::move(out), is_markup(call));
}

/// int() of a text: white space around, a sign, digits with single '_' between them. False where it is none.
bool read_integer(std::string_view text, int base, Value& found) {
  text = text.substr(0, strip_end(text));
  text = text.substr(strip_begin(text));
  std::string digits;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    if (text[0] == '-') digits = "-";
    text.remove_prefix(1);
  }
  if (base != 10 && text.size() > 2 && text[0] == '0' && (digit_value(text[1]) == (base == 16 ? 33 : base == 8 ? 24 : 11)))
    text.remove_prefix(2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_' && i > 0 && text[i - 1] != '_' && i + 1 < text.size()) continue;
    if (digit_value(text[i]) >= base) return false;
    digits += text[i];
  }
  if (text.empty()) return false;
  std::int64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (read.ec == std::errc()) {
    found = value;
  } else {
    const bool minus = digits[0] == '-';
    const std::size_t first = digits.find_first_not_of('0', minus ? 1 : 0);
    if (base != 10 || digits.size() > 4300) return false;  // CPython's limit of digits
    found = BigInteger{std::make_shared<const std::string>((minus ? "-" : "") + digits.substr(first))};
  }
  return true;
}

bool read_real(std::string_view text, double& found) {
  text = text.substr(0, strip_end(text));
  text = text.substr(strip_begin(text));
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  std::string plain(text);
  plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
  const char* end = plain.data() + plain.size();
  const auto read = std::from_chars(plain.data(), end, found);
  return !plain.empty() && read.ptr == end && read.ec != std::errc::invalid_argument;
}

bool truncated(double real, Value& found) {
  if (!std::isfinite(real)) return false;
  if (std::fabs(real) < 9.2e18) {
    found = static_cast<std::int64_t>(real);
  } else {
    found = BigInteger{std::make_shared<const std::string>(fmt::format("{:.0f}", real))};
  }
  return true;
}

Value to_integer(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"default", "base"});
  require_defined(call.input);
  Value result = bound[0] != nullptr ? *bound[0] : Value(std::int64_t{0});
  double real = 0;
  if (const String* string = call.input.string()) {
    call.guard.step(string->text.size() / 16);
    const std::int64_t base = integer_or(bound[1], 10);
    if (base < 2 || base > 36) fail(Code::invalid_argument, "int() base must be >= 2 and <= 36");
    if (!read_integer(string->bytes(), static_cast<int>(base), result) && read_real(string->bytes(), real)) truncated(real, result);
  } else if (call.input.is<BigInteger>()) {
    result = call.input;
  } else if (const auto* number = call.input.get<double>()) {
    if (!truncated(*number, result)) fail(Code::invalid_argument, "cannot convert float infinity or NaN to integer");
  } else if (as_integer(call.input)) {
    result = *as_integer(call.input);
  }
  result.origin = Origin::data;
  return result;
}

Value to_real(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"default"});
  require_defined(call.input);
  Value result = bound[0] != nullptr ? *bound[0] : Value(0.0);
  double real = 0;
  if (const String* string = call.input.string()) {
    call.guard.step(string->text.size() / 16);
    if (read_real(string->bytes(), real)) result = real;
  } else if (as_real(call.input)) {
    result = *as_real(call.input);
  } else if (const auto* big = call.input.get<BigInteger>(); big != nullptr && read_real(*big->digits, real)) {
    result = real;
  }
  result.origin = Origin::data;
  return result;
}

Value absolute(const FilterCall& call) {
  require_defined(call.input);
  if (!as_real(call.input)) fail(Code::invalid_argument, "bad operand type for abs(): '{}'", type_name(call.input));
  return *as_real(call.input) < 0 ? negated(call.input) : as_number(call.input);
}

Value round(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"precision", "method"});
  require_defined(call.input);
  if (!as_real(call.input)) fail(Code::invalid_argument, "type {} doesn't define __round__ method", type_name(call.input));
  const std::int64_t precision = std::clamp<std::int64_t>(integer_or(bound[0], 0), -300, 300);
  const std::string_view method = bound[1] != nullptr ? string_argument(*bound[1], "the method").bytes() : "common";
  const double real = *as_real(call.input);
  const double scale = power(10.0, static_cast<double>(precision));
  if (method == "ceil") return std::ceil(real * scale) / scale;
  if (method == "floor") return std::floor(real * scale) / scale;
  if (method != "common") fail(Code::invalid_argument, "method must be common, ceil or floor");
  if (as_integer(call.input) && precision >= 0) return as_number(call.input);
  if (precision < 0) {
    const double rounded = std::nearbyint(real * scale) / scale;
    return as_integer(call.input) ? Value(static_cast<std::int64_t>(rounded)) : Value(rounded);
  }
  double rounded = 0;  // correctly rounded in decimal, as CPython does it
  const std::string digits = fmt::format("{:.{}f}", real, static_cast<int>(precision));
  std::from_chars(digits.data(), digits.data() + digits.size(), rounded);
  return rounded;
}

Value format(const FilterCall& call) {
  std::vector<Value> items = call.arguments.positional;
  const Value format = call.text(printed(call.guard, call.input), is_markup(call));
  return compute(call.guard, Operator::modulo, format, make_sequence(&call.guard, Sequence::Kind::tuple, std::move(items)));
}

Value count_words(const FilterCall& call) {
  const Text text = printed(call.guard, call.input);
  call.guard.step(text.size());
  std::int64_t words = 0;
  bool inside = false;
  for (std::size_t at = 0, size = 0; at < text.size(); at += size) {
    size = character_size(text.bytes(), at);
    const std::string_view character = text.bytes().substr(at, size);
    const bool part = character == "_" || has_property(character, "L") || has_property(character, "N");
    words += part && !inside ? 1 : 0;
    inside = part;
  }
  return words;
}

Value center(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"width"});
  Arguments width;
  width.positional.push_back(bound[0] != nullptr ? *bound[0] : Value(std::int64_t{80}));
  return call_string_method(call.guard, call.text(printed(call.guard, call.input), is_markup(call)), "center", width);
}

Value truncate(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"length", "killwords", "end", "leeway"});
  const Text& text = string_argument(call.input, "the text to truncate").text;
  const std::int64_t most = integer_or(bound[0], 255);
  const Text end = bound[2] != nullptr ? string_argument(*bound[2], "the end").text : Text("...", Origin::template_text);
  const auto tail = static_cast<std::int64_t>(count_characters(end.bytes()));
  const std::int64_t leeway = integer_or(bound[3], 5);
  if (most < tail || leeway < 0) fail(Code::invalid_argument, "the length {} has no room for the end of {} characters", most, tail);
  if (static_cast<std::int64_t>(count_characters(text.bytes())) - leeway <= most) return call.input;
  Text out = text.part(0, byte_of_character(text.bytes(), static_cast<std::size_t>(most - tail)));
  if (!true_or(bound[1], false)) {
    const std::size_t space = out.bytes().rfind(' ');
    if (space != std::string_view::npos) out = out.part(0, space);
  }
  out.append(end);
  return call.text(std::move(out), is_markup(call));
}

Value join(const FilterCall& call) {
  const auto bound = call.arguments.bind(call.name, {"d", "attribute"});
  SequenceRef items = items_of(call.guard, call.input);
  if (bound[1] != nullptr && !bound[1]->is<None>()) {
    Arguments by;
    by.named.emplace_back("attribute", *bound[1]);
    items = items_of(call.guard, apply_filter(call.guard, "map", call.input, by));
  }
  const Text separator = bound[0] != nullptr ? printed(call.guard, *bound[0]) : Text();
  Text out;
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    call.guard.step();
    if (i > 0) out.append(separator);
    out.append(printed(call.guard, items->items[i]));
  }
  return call.text(std::move(out));
}

constexpr NamedFilter table[] = {
    {"string", string_filter},  {"safe", safe},      {"escape", escape},     {"e", escape},     {"forceescape", escape}, {"trim", trim},
    {"upper", recase},          {"lower", recase},   {"capitalize", recase}, {"title", title},  {"replace", replace},    {"tojson", tojson},
    {"indent", indent},         {"int", to_integer}, {"float", to_real},     {"abs", absolute}, {"round", round},        {"format", format},
    {"wordcount", count_words}, {"center", center},  {"truncate", truncate}, {"join", join}};

}  // namespace

std::pair<const NamedFilter*, std::size_t> text_filters() { return {table, std::size(table)}; }

}  // namespace skipstone::chat::jinja
