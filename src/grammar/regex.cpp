#include <optional>
#include <string>
#include <utility>

#include "base/escape.h"
#include "base/status.h"
#include "grammar/notations.h"
#include "text/utf8.h"

namespace skipstone::grammar {
namespace {

constexpr int deepest_group = 200;
constexpr std::size_t most_bytes = std::size_t{1} << 16;

const CodePoints digits{{'0', '9'}};
const CodePoints word_characters{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
/// White space and line terminators of ECMA-262, sections 12.2 and 12.3.
const CodePoints blanks{{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                        {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const CodePoints line_ends{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

/// A recursive-descent parser; it recurses for groups alone.
class Parser {
 public:
  Parser(Syntax& syntax, std::string_view regex, Anchoring anchoring) : syntax_(syntax), text_(regex), anchoring_(anchoring) {
    if (regex.size() > most_bytes) fail(Code::invalid_argument, "the regular expression is longer than {} bytes", most_bytes);
  }

  ExprId parse() {
    std::vector<ExprId> alternatives;
    do {
      alternatives.push_back(parse_anchored());
    } while (take('|'));
    if (at_ < text_.size()) fail_here("')' without '('");
    return syntax_.choice(std::move(alternatives));
  }

 private:
  [[noreturn]] void fail_here(const std::string& what) const {
    std::size_t position = 1;
    for (const char byte : text_.substr(0, at_)) position += text::continues_character(byte) ? 0 : 1;
    fail(Code::invalid_argument, "the regular expression '{}', position {}: {}", shortened(text_), position, what);
  }
  bool is_at(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  /// An alternative of the whole expression, which may have anchors.
  ExprId parse_anchored() {
    const bool from_begin = take('^');
    const ExprId inner = parse_sequence(0);
    const bool to_end = take('$');
    if (at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')')
      fail_here("'$' means the text's end, and may be at an alternative's end alone");
    if (anchoring_ == Anchoring::whole) return inner;
    std::vector<ExprId> parts;
    if (!from_begin) parts.push_back(anything());
    parts.push_back(inner);
    if (!to_end) parts.push_back(anything());
    return syntax_.sequence(std::move(parts));
  }
  ExprId anything() { return syntax_.repeat(syntax_.chars(CodePoints::all()), 0, unbounded); }

  ExprId parse_group_alternatives(int depth) {
    std::vector<ExprId> alternatives;
    do {
      alternatives.push_back(parse_sequence(depth));
    } while (take('|'));
    return syntax_.choice(std::move(alternatives));
  }

  ExprId parse_sequence(int depth) {
    std::vector<ExprId> items;
    while (at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')') {
      if (text_[at_] == '$' && depth == 0) break;
      if (text_[at_] == '^' || text_[at_] == '$')
        fail_here("anchors inside the expression are not supported; ^ may be at its beginning and $ at its end");
      const ExprId item = parse_item(depth);
      items.push_back(parse_quantifiers(item));
    }
    return syntax_.sequence(std::move(items));
  }

  ExprId parse_item(int depth) {
    switch (text_[at_]) {
      case '(':
        return parse_group(depth);
      case '[':
        return syntax_.chars(parse_class());
      case '.':
        ++at_;
        return syntax_.chars(line_ends.complement());
      case '*':
      case '+':
      case '?':
        fail_here("a quantifier without anything to repeat");
      case '\\':
        return syntax_.chars(parse_escape(false));
      default:
        return syntax_.chars(CodePoints::one(parse_character()));
    }
  }

  ExprId parse_group(int depth) {
    if (depth >= deepest_group) fail_here("groups nest deeper than 200 levels");
    ++at_;
    if (take('?') && !take(':')) {
      if (!is_at("<") || is_at("<=") || is_at("<!")) fail_here("lookarounds and flags are not supported");
      const std::size_t end = text_.find('>', at_);
      if (end == std::string_view::npos) fail_here("a group's name is not closed by '>'");
      at_ = end + 1;
    }
    const ExprId inner = parse_group_alternatives(depth + 1);
    if (!take(')')) fail_here("a group is not closed by ')'");
    return inner;
  }

  ExprId parse_quantifiers(ExprId item) {
    if (at_ >= text_.size()) return item;
    std::uint32_t least = 0, most = unbounded;
    switch (text_[at_]) {
      case '*':
        ++at_;
        break;
      case '+':
        ++at_, least = 1;
        break;
      case '?':
        ++at_, most = 1;
        break;
      case '{':
        ++at_;
        least = most = parse_count();
        if (take(',')) most = is_at("}") ? unbounded : parse_count();
        if (!take('}')) fail_here("a count is not closed by '}'");
        if (most < least) fail_here("a repetition's upper bound is below its lower one");
        break;
      default:
        return item;
    }
    take('?');  // which of the fitting parts is meant does not change which texts fit
    if (at_ < text_.size() && std::string_view("*+?{").find(text_[at_]) != std::string_view::npos)
      fail_here("a quantifier after a quantifier");
    return syntax_.repeat(item, least, most);
  }

  std::uint32_t parse_count() {
    std::uint32_t count = 0;
    const std::size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      count = count * 10 + static_cast<std::uint32_t>(text_[at_] - '0');
      if (count > most_exprs) fail_here("a count is larger than any that is supported");
    }
    if (begin == at_) fail_here("a count was expected");
    return count;
  }

  char32_t parse_character() {
    if (at_ >= text_.size()) fail_here("it ends where a character was expected");
    const text::Utf8Front front = text::utf8_front(text_.substr(at_));
    if (front.kind != text::Utf8Front::Kind::character) fail_here("bytes that are not UTF-8");
    at_ += front.size;
    return front.code_point;
  }

  CodePoints parse_class() {
    ++at_;
    const bool negated = take('^');
    std::vector<CodePoints::Range> ranges;
    while (!take(']')) {
      if (at_ >= text_.size()) fail_here("a class is not closed by ']'");
      const CodePoints first = parse_class_item();
      const bool range = is_at("-") && !is_at("-]");
      if (!range) {
        ranges.insert(ranges.end(), first.ranges().begin(), first.ranges().end());
        continue;
      }
      ++at_;
      const CodePoints last = parse_class_item();
      if (!is_one(first) || !is_one(last)) fail_here("a range between classes");
      if (last.ranges().front().first < first.ranges().front().first) fail_here("a class's range ends before it begins");
      ranges.push_back({first.ranges().front().first, last.ranges().front().first});
    }
    CodePoints set;
    set.add(std::move(ranges));
    return negated ? set.complement() : set;
  }
  CodePoints parse_class_item() {
    return at_ < text_.size() && text_[at_] == '\\' ? parse_escape(true) : CodePoints::one(parse_character());
  }
  static bool is_one(const CodePoints& set) { return set.ranges().size() == 1 && set.ranges().front().first == set.ranges().front().last; }

  CodePoints parse_escape(bool in_class) {
    ++at_;
    if (at_ >= text_.size()) fail_here("it ends with a backslash");
    const char c = text_[at_];
    switch (c) {
      case 'd':
        ++at_;
        return digits;
      case 'D':
        ++at_;
        return digits.complement();
      case 'w':
        ++at_;
        return word_characters;
      case 'W':
        ++at_;
        return word_characters.complement();
      case 's':
        ++at_;
        return blanks;
      case 'S':
        ++at_;
        return blanks.complement();
      case 'n':
        ++at_;
        return CodePoints::one('\n');
      case 't':
        ++at_;
        return CodePoints::one('\t');
      case 'r':
        ++at_;
        return CodePoints::one('\r');
      case 'f':
        ++at_;
        return CodePoints::one('\f');
      case 'v':
        ++at_;
        return CodePoints::one('\v');
      case 'x':
        ++at_;
        return CodePoints::one(parse_digits(2));
      case 'u':
        ++at_;
        return CodePoints::one(parse_code_point());
      case 'b':
        if (!in_class) break;
        ++at_;
        return CodePoints::one('\b');
      case '0':
        if (at_ + 1 < text_.size() && text_[at_ + 1] >= '0' && text_[at_ + 1] <= '9') break;
        ++at_;
        return CodePoints::one(0);
      default:
        break;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) fail_here("an escape that is not supported");
    return CodePoints::one(parse_character());
  }

  char32_t parse_code_point() {
    if (!take('{')) {
      const char32_t unit = parse_digits(4);
      if (unit < first_surrogate || unit > 0xDBFF || !is_at("\\u")) return unit;
      at_ += 2;
      const char32_t low = parse_digits(4);
      if (low < 0xDC00 || low > last_surrogate) fail_here("a surrogate without its other half");
      return 0x10000 + ((unit - first_surrogate) << 10U) + (low - 0xDC00);
    }
    const std::size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) fail_here("an escape that is not closed by '}'");
    const char32_t value = parse_digits(end - at_);
    take('}');
    return value;
  }

  char32_t parse_digits(std::size_t count) {
    const auto value = parse_hexadecimal(text_.substr(at_), count);
    if (!value) fail_here("an escape without its hexadecimal digits");
    at_ += count;
    return *value;
  }

  Syntax& syntax_;
  std::string_view text_;
  Anchoring anchoring_;
  std::size_t at_ = 0;
};

}  // namespace

ExprId add_regex(Syntax& syntax, std::string_view regex, Anchoring anchoring) { return Parser(syntax, regex, anchoring).parse(); }

Syntax parse_regex(std::string_view regex) {
  Syntax syntax;
  const RuleId root = syntax.add_rule("root");
  syntax.define(root, add_regex(syntax, regex, Anchoring::whole));
  syntax.finish(root);
  return syntax;
}

}  // namespace skipstone::grammar
