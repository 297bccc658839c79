#include "grammar/json_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "grammar/notations.h"
#include "json/json.h"
#include "text/utf8.h"

namespace skipstone::grammar {
namespace {

/// Characters that a JSON string has as they are (RFC 8259, section 7).
const CodePoints plain = CodePoints{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}.complement();

/// The letters of the short escapes and what they mean.
constexpr std::array<std::pair<char, char32_t>, 8> short_escapes{
    {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', '\b'}, {'f', '\f'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'}}};

/// A hexadecimal digit of either case.
CodePoints hexadecimal(std::uint32_t first, std::uint32_t last) {
  CodePoints digits;
  for (std::uint32_t digit = first; digit <= last; ++digit) {
    if (digit < 10) {
      digits.add('0' + digit, '0' + digit);
    } else {
      digits.add('a' + digit - 10, 'a' + digit - 10);
      digits.add('A' + digit - 10, 'A' + digit - 10);
    }
  }
  return digits;
}

/// The numbers from `first` to `last` as `count` hexadecimal digits.
ExprId hexadecimal_range(Syntax& syntax, std::uint32_t first, std::uint32_t last, int count) {
  if (count == 0) return syntax.empty();
  const std::uint32_t size = std::uint32_t{1} << 4 * (count - 1), most = size - 1;
  std::vector<ExprId> alternatives;
  const auto add = [&](std::uint32_t from, std::uint32_t to, std::uint32_t low, std::uint32_t high) {
    alternatives.push_back(syntax.sequence({syntax.chars(hexadecimal(from, to)), hexadecimal_range(syntax, low, high, count - 1)}));
  };
  std::uint32_t begin = first / size, end = last / size;
  if (begin == end && (first % size != 0 || last % size != most)) {
    add(begin, begin, first % size, last % size);
    return syntax.choice(std::move(alternatives));
  }
  if (first % size != 0) {
    add(begin, begin, first % size, most);
    ++begin;
  }
  const bool cut = last % size != most;
  if (begin + (cut ? 1 : 0) <= end) add(begin, end - (cut ? 1 : 0), 0, most);
  if (cut) add(end, end, 0, last % size);
  return syntax.choice(std::move(alternatives));
}

}  // namespace

RuleId JsonText::named(std::optional<RuleId>& rule, const char* name) {
  if (!rule) rule = syntax_.add_rule(name);
  return *rule;
}

ExprId JsonText::blanks() {
  if (form_ == Form::writing) return syntax_.empty();
  if (!blanks_) {
    syntax_.define(named(blanks_, "blanks"), syntax_.repeat(syntax_.chars({{' ', ' '}, {'\t', '\n'}, {'\r', '\r'}}), 0, unbounded));
  }
  return syntax_.reference(*blanks_);
}

ExprId JsonText::comma() {
  if (form_ == Form::writing) return syntax_.text(", ");
  return syntax_.sequence({blanks(), syntax_.text(","), blanks()});
}

ExprId JsonText::colon() {
  if (form_ == Form::writing) return syntax_.text(": ");
  return syntax_.sequence({blanks(), syntax_.text(":"), blanks()});
}

ExprId JsonText::brackets(const char* open, ExprId inner, const char* close) {
  if (form_ == Form::writing) return syntax_.sequence({syntax_.text(open), inner, syntax_.text(close)});
  return syntax_.sequence({syntax_.text(open), blanks(), inner, blanks(), syntax_.text(close)});
}

/// "uXXXX" and pairs of surrogates.
ExprId JsonText::unit(const CodePoints& set) {
  std::vector<ExprId> alternatives;
  for (const CodePoints::Range& range : set.ranges()) {
    if (range.first <= 0xFFFF)
      alternatives.push_back(
          syntax_.sequence({syntax_.text("u"), hexadecimal_range(syntax_, range.first, std::min<char32_t>(range.last, 0xFFFF), 4)}));
    char32_t first = std::max<char32_t>(range.first, 0x10000);
    while (first <= range.last) {
      // The characters with equal first halves.
      const char32_t high = 0xD800 + ((first - 0x10000) >> 10U);
      const bool whole = (first & 0x3FFU) == 0 && range.last - first >= 0x3FF;
      const char32_t last =
          whole ? first + ((range.last - first + 1) & ~char32_t{0x3FF}) - 1 : std::min<char32_t>(range.last, first | 0x3FFU);
      const ExprId highs = hexadecimal_range(syntax_, high, 0xD800 + ((last - 0x10000) >> 10U), 4);
      const ExprId lows = hexadecimal_range(syntax_, 0xDC00 + (first & 0x3FFU), 0xDC00 + (last & 0x3FFU), 4);
      alternatives.push_back(syntax_.sequence({syntax_.text("u"), highs, syntax_.text("\\u"), lows}));
      first = last + 1;
    }
  }
  return syntax_.choice(std::move(alternatives));
}

ExprId JsonText::escape(const CodePoints& set) {
  const auto [known, is_new] = escapes_.emplace(set, 0);
  if (is_new) {
    known->second = syntax_.add_rule("escape");
    CodePoints letters;
    for (const auto& [letter, meaning] : short_escapes) {
      if (set.contains(meaning)) letters.add(static_cast<char32_t>(letter), static_cast<char32_t>(letter));
    }
    syntax_.define(known->second, syntax_.sequence({syntax_.text("\\"), syntax_.choice({syntax_.chars(letters), unit(set)})}));
  }
  return syntax_.reference(known->second);
}

ExprId JsonText::character(const CodePoints& set) {
  const auto known = characters_.find(set);
  return known != characters_.end() ? known->second : characters_.emplace(set, make_character(set)).first->second;
}

ExprId JsonText::make_character(const CodePoints& set) {
  if (form_ == Form::any) return syntax_.choice({syntax_.chars(set & plain), escape(set)});
  std::vector<ExprId> alternatives;
  if (const CodePoints as_is = set & plain; !as_is.is_empty()) alternatives.push_back(syntax_.chars(as_is));
  CodePoints rest = set - plain;
  for (const auto& [letter, meaning] : short_escapes) {
    if (!rest.contains(meaning)) continue;
    alternatives.push_back(syntax_.text({'\\', letter}));
    rest = rest - CodePoints::one(meaning);
  }
  if (!rest.is_empty()) alternatives.push_back(syntax_.sequence({syntax_.text("\\"), unit(rest)}));
  return syntax_.choice(std::move(alternatives));
}

ExprId JsonText::free_character() { return syntax_.choice({syntax_.chars(plain), escape(CodePoints::all())}); }

ExprId JsonText::string(std::uint32_t least, std::uint32_t most) {
  const bool any = least == 0 && most == unbounded;
  if (any && string_) return syntax_.reference(*string_);
  const ExprId written = syntax_.sequence({syntax_.text("\""), syntax_.repeat(free_character(), least, most), syntax_.text("\"")});
  if (!any) return written;
  syntax_.define(named(string_, "string"), written);
  return syntax_.reference(*string_);
}

ExprId JsonText::string(const TextAutomaton& content) {
  const ExprId inner = content.add_to(syntax_, "content", [&](const CodePoints& set) { return character(set); });
  return syntax_.sequence({syntax_.text("\""), inner, syntax_.text("\"")});
}

ExprId JsonText::string(std::string_view content) {
  std::vector<ExprId> parts{syntax_.text("\"")};
  if (form_ == Form::writing) {
    parts = {syntax_.text(SortedJson(content).dump())};
  } else {
    while (!content.empty()) {
      const text::Utf8Front front = text::utf8_front(content);
      parts.push_back(character(CodePoints::one(front.code_point)));
      content.remove_prefix(front.size);
    }
    parts.push_back(syntax_.text("\""));
  }
  return syntax_.sequence(std::move(parts));
}

/// What a model writes has as many digits as doubles hold, so that it does not write them for ever.
ExprId JsonText::number(const NumberLimits& limits) {
  const bool writes = form_ == Form::writing;
  if (limits.bounds.empty() && limits.factors.empty() && (!limits.integer || writes)) {
    std::optional<RuleId>& known = limits.integer ? integer_ : number_;
    if (!known) {
      const char* const any = "-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+\\-]?\\d+)?";
      const char* const written = limits.integer ? "-?(0|[1-9]\\d{0,14})" : "-?(0|[1-9]\\d{0,14})(\\.\\d{1,15})?(e[+\\-]?\\d{1,2})?";
      const ExprId digits = add_regex(syntax_, writes ? written : any, Anchoring::whole);
      syntax_.define(named(known, limits.integer ? "integer" : "number"), digits);
    }
    return syntax_.reference(*known);
  }
  NumberLimits wanted = limits;
  wanted.for_writing = writes;
  return numbers_within(wanted).add_to(syntax_, limits.integer ? "integer" : "number",
                                       [&](const CodePoints& set) { return syntax_.chars(set); });
}

/// A number in all the digits that mean the same.
ExprId JsonText::equal_number(const Decimal& value) {
  const ExprId zero = syntax_.text("0");
  std::vector<ExprId> parts;
  if (value.is_zero()) parts.push_back(syntax_.optional(syntax_.text("-")));
  parts.push_back(syntax_.text(value.text()));
  if (value.fraction.empty()) {
    parts.push_back(syntax_.optional(syntax_.sequence({syntax_.text("."), syntax_.repeat(zero, 1, unbounded)})));
  } else {
    parts.push_back(syntax_.repeat(zero, 0, unbounded));
  }
  return syntax_.sequence(std::move(parts));
}

ExprId JsonText::any_value() {
  if (!value_) {
    named(value_, "value");
    std::vector<ExprId> alternatives{any_object(), any_array(), string(), number({})};
    for (const char* const word : {"true", "false", "null"}) alternatives.push_back(syntax_.text(word));
    syntax_.define(*value_, syntax_.choice(std::move(alternatives)));
  }
  return syntax_.reference(*value_);
}

ExprId JsonText::any_object() {
  if (!object_) {
    named(object_, "object");
    const ExprId member = syntax_.sequence({string(), colon(), any_value()});
    const ExprId members = syntax_.sequence({member, syntax_.repeat(syntax_.sequence({comma(), member}), 0, unbounded)});
    syntax_.define(*object_, brackets("{", syntax_.optional(members), "}"));
  }
  return syntax_.reference(*object_);
}

ExprId JsonText::any_array() {
  if (!array_) {
    named(array_, "array");
    const ExprId items = syntax_.sequence({any_value(), syntax_.repeat(syntax_.sequence({comma(), any_value()}), 0, unbounded)});
    syntax_.define(*array_, brackets("[", syntax_.optional(items), "]"));
  }
  return syntax_.reference(*array_);
}

ExprId JsonText::object_in_any_order(const std::string& name, const std::vector<ExprId>& members, const Members& limits) {
  const RuleId rule = syntax_.add_rule(name);
  syntax_.rule(rule).has_members = true;
  syntax_.rule(rule).members = limits;
  const ExprId member = syntax_.choice(members);
  const ExprId all = syntax_.sequence({member, syntax_.repeat(syntax_.sequence({comma(), member}), 0, unbounded)});
  const ExprId open = syntax_.sequence({syntax_.text("{"), blanks(), syntax_.optional(all)});
  syntax_.define(rule, syntax_.sequence({open, blanks(), syntax_.complete(), syntax_.text("}")}));
  return syntax_.reference(rule);
}

ExprId JsonText::constant(const SortedJson& value) {
  if (value.is_string()) return string(value.get_ref<const std::string&>());
  if (value.is_number()) {
    const Decimal number = Decimal::parse(value.dump());
    return form_ == Form::writing ? syntax_.text(number.text()) : equal_number(number);
  }
  if (!value.is_structured()) return syntax_.text(value.dump());
  std::vector<ExprId> parts;
  Members all;
  for (const auto& [key, item] : value.items()) {
    if (!parts.empty() && (value.is_array() || form_ == Form::writing)) parts.push_back(comma());
    if (value.is_array()) {
      parts.push_back(constant(item));
    } else if (form_ == Form::writing) {
      parts.push_back(syntax_.sequence({string(std::string_view(key)), colon(), constant(item)}));
    } else {
      const auto number = static_cast<std::uint32_t>(all.required.size());
      parts.push_back(syntax_.sequence({string(std::string_view(key)), syntax_.member(number), colon(), constant(item)}));
      all.required.push_back(number);
    }
  }
  if (value.is_array()) return brackets("[", syntax_.sequence(std::move(parts)), "]");
  if (form_ == Form::any) return object_in_any_order("constant", parts, all);
  return brackets("{", syntax_.sequence(std::move(parts)), "}");
}

}  // namespace skipstone::grammar
