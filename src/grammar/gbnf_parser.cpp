#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "base/status.h"
#include "grammar/notations.h"
#include "text/utf8.h"

namespace skipstone::grammar {
namespace {

constexpr int deepest_group = 200;
constexpr std::size_t most_bytes = std::size_t{1} << 20;

/// A recursive-descent parser; it recurses for groups alone.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {
    if (text.size() > most_bytes) fail(Code::invalid_argument, "the grammar is longer than {} bytes", most_bytes);
  }

  Syntax parse() {
    skip_blanks(true);
    while (at_ < text_.size()) parse_rule();
    const auto root = names_.find("root");
    if (root == names_.end()) fail_here("there is no rule 'root', where texts begin");
    for (const Rule& rule : syntax_.rules()) {
      if (!rule.defined)
        fail(Code::invalid_argument, "line {}, column {}: the rule '{}' is not defined", rule.line, rule.column, shortened(rule.name));
    }
    syntax_.finish(root->second);
    return std::move(syntax_);
  }

 private:
  [[noreturn]] void fail_here(const std::string& what) const {
    fail(Code::invalid_argument, "line {}, column {}: {}", line_, column_, what);
  }

  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool is_at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  void next() {
    const char byte = text_[at_++];
    if (byte == '\n') {
      ++line_;
      column_ = 1;
    } else if (!text::continues_character(byte)) {
      ++column_;
    }
  }
  void expect(char c, const char* what) {
    if (!is_at(c)) fail_here(what);
    next();
  }

  /// Blanks and comments; line ends too where they separate nothing.
  void skip_blanks(bool line_ends) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') next();
      } else if (c == ' ' || c == '\t' || (line_ends && (c == '\n' || c == '\r'))) {
        next();
      } else {
        return;
      }
    }
  }

  static bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; }

  RuleId parse_name() {
    const std::size_t begin = at_, where_line = line_, where_column = column_;
    while (at_ < text_.size() && is_name(text_[at_])) next();
    if (begin == at_) fail_here("a rule's name was expected");
    const std::string name(text_.substr(begin, at_ - begin));
    const auto [known, is_new] = names_.emplace(name, 0);
    if (is_new) {
      known->second = syntax_.add_rule(name);
      syntax_.rule(known->second).line = where_line;
      syntax_.rule(known->second).column = where_column;
    }
    return known->second;
  }

  void parse_rule() {
    const std::size_t begin_line = line_, begin_column = column_;
    const RuleId rule = parse_name();
    if (syntax_.rule(rule).defined) {
      fail(Code::invalid_argument, "line {}, column {}: the rule '{}' is defined twice", begin_line, begin_column,
           shortened(syntax_.rule(rule).name));
    }
    skip_blanks(false);
    for (const char c : {':', ':', '='}) expect(c, "'::=' was expected after a rule's name");
    skip_blanks(true);
    int levels = 0;
    syntax_.define(rule, parse_alternatives(0, levels));
    if (at_ < text_.size() && !is_at('\n') && !is_at('\r')) fail_here("what is here belongs to no rule");
    skip_blanks(true);
  }

  /// `depth`: the groups around this place. `levels` becomes the larger of itself and the levels of groups inside.
  ExprId parse_alternatives(int depth, int& levels) {
    std::vector<ExprId> alternatives{parse_sequence(depth, levels)};
    while (is_at('|')) {
      next();
      skip_blanks(true);
      alternatives.push_back(parse_sequence(depth, levels));
    }
    return syntax_.choice(std::move(alternatives));
  }

  ExprId parse_sequence(int depth, int& levels) {
    std::vector<ExprId> items;
    int inside = 0;
    while (auto item = parse_item(depth, inside = 0)) {
      skip_blanks(depth > 0);
      // A quantifier after a quantifier is a level too: it is written as one after a group.
      for (bool is_second = false; auto repeated = parse_quantifier(*item); is_second = true) {
        if (is_second && depth + ++inside > deepest_group) fail_here("its groups and repetitions nest deeper than 200 levels");
        item = repeated;
        skip_blanks(depth > 0);
      }
      levels = std::max(levels, inside);
      items.push_back(*item);
    }
    return syntax_.sequence(std::move(items));
  }

  std::optional<ExprId> parse_item(int depth, int& levels) {
    const char c = peek();
    if (c == '"') return parse_literal();
    if (c == '[') return parse_class();
    if (c == '.') {
      next();
      return syntax_.chars(CodePoints::all());
    }
    if (c == '(') return parse_group(depth, levels);
    if (c == '<' || c == '!') fail_here("rules over tokens, such as <[1]>, are not supported");
    if (is_name(c)) return syntax_.reference(parse_name());
    return std::nullopt;
  }

  ExprId parse_group(int depth, int& levels) {
    if (depth >= deepest_group) fail_here("its groups nest deeper than 200 levels");
    next();
    skip_blanks(true);
    const ExprId inner = parse_alternatives(depth + 1, levels);
    ++levels;
    expect(')', "')' was expected at the end of a group");
    return inner;
  }

  std::optional<ExprId> parse_quantifier(ExprId item) {
    switch (peek()) {
      case '*':
        next();
        return syntax_.repeat(item, 0, unbounded);
      case '+':
        next();
        return syntax_.repeat(item, 1, unbounded);
      case '?':
        next();
        return syntax_.optional(item);
      case '{':
        break;
      default:
        return std::nullopt;
    }
    next();
    skip_blanks(false);
    const std::uint32_t least = parse_count();
    std::uint32_t most = least;
    skip_blanks(false);
    if (is_at(',')) {
      next();
      skip_blanks(false);
      most = is_at('}') ? unbounded : parse_count();
      skip_blanks(false);
    }
    if (most < least) fail_here("a repetition's upper bound is below its lower one");
    expect('}', "'}' was expected at the end of a repetition");
    return syntax_.repeat(item, least, most);
  }

  std::uint32_t parse_count() {
    std::uint32_t count = 0;
    if (peek() < '0' || peek() > '9') fail_here("a repetition's count was expected");
    while (peek() >= '0' && peek() <= '9') {
      count = count * 10 + static_cast<std::uint32_t>(peek() - '0');
      if (count > most_exprs) fail_here("a repetition's count is larger than any that is supported");
      next();
    }
    return count;
  }

  ExprId parse_literal() {
    next();
    std::string bytes;
    while (!is_at('"')) text::append_utf8(bytes, parse_character("a text that is not closed by '\"'"));
    next();
    return syntax_.text(std::move(bytes));
  }

  ExprId parse_class() {
    next();
    const bool negated = is_at('^');
    if (negated) next();
    std::vector<CodePoints::Range> ranges;
    while (!is_at(']')) {
      constexpr const char* open = "a class that is not closed by ']'";
      const char32_t first = parse_character(open);
      char32_t last = first;
      if (is_at('-') && peek(1) != ']') {
        next();
        last = parse_character(open);
        if (last < first) fail_here("a class's range ends before it begins");
      }
      ranges.push_back({first, last});
    }
    next();
    CodePoints set;
    set.add(std::move(ranges));
    return syntax_.chars(negated ? set.complement() : set);
  }

  /// A character as it is or as an escape. `open`: what it is in, should the text end.
  char32_t parse_character(const char* open) {
    if (at_ >= text_.size()) fail_here(open);
    if (is_at('\\')) return parse_escape();
    const text::Utf8Front front = text::utf8_front(text_.substr(at_));
    if (front.kind != text::Utf8Front::Kind::character) fail_here("bytes that are not UTF-8");
    for (std::size_t i = 0; i < front.size; ++i) next();
    return front.code_point;
  }

  char32_t parse_escape() {
    next();
    const char c = peek();
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {
      static const std::map<char, char32_t> simple{{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'\\', '\\'}, {'"', '"'}, {'[', '['}, {']', ']'}};
      const auto found = simple.find(c);
      if (found == simple.end()) fail_here("an escape that GBNF does not have");
      next();
      return found->second;
    }
    next();
    const auto value = parse_hexadecimal(text_.substr(at_), digits);
    if (!value) fail_here("an escape without its hexadecimal digits");
    for (std::size_t i = 0; i < digits; ++i) next();
    if (*value >= first_surrogate && *value <= last_surrogate) fail_here("an escape that is no character");
    return *value;
  }

  std::string_view text_;
  std::size_t at_ = 0, line_ = 1, column_ = 1;  ///< columns count characters
  std::map<std::string, RuleId> names_;
  Syntax syntax_;
};

}  // namespace

Syntax parse_gbnf(std::string_view text) { return Parser(text).parse(); }

}  // namespace skipstone::grammar
