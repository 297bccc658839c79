#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/status.h"
#include "grammar/notations.h"
#include "text/utf8.h"

namespace skipstone::grammar {
namespace {

/// How tightly an expression is bound: what is looser than its place is put in parentheses.
enum class Binding { choice, sequence, item };

class Writer {
 public:
  explicit Writer(const Syntax& syntax) : syntax_(syntax) {}

  std::string write() {
    name_rules();
    std::string out;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const Rule& rule = syntax_.rules()[order_[i]];
      out += names_[order_[i]] + " ::= " + written(rule.expr, Binding::choice) + "\n";
    }
    return out;
  }

 private:
  /// The rules that the root uses, it first, and a name for each that GBNF can write.
  void name_rules() {
    std::set<std::string> taken{"root"};
    std::map<std::string, int> numbers;
    std::set<RuleId> seen{syntax_.root()};
    order_.push_back(syntax_.root());
    names_[syntax_.root()] = "root";
    std::vector<ExprId> open{syntax_.rules()[syntax_.root()].expr};
    while (!open.empty()) {
      const Expr& expr = syntax_.expr(open.back());
      open.pop_back();
      std::copy(expr.children.rbegin(), expr.children.rend(), std::back_inserter(open));
      if (expr.kind == ExprKind::member) {
        fail(Code::invalid_argument, "objects whose members come in any order cannot be written as GBNF");
      }
      if (expr.kind != ExprKind::rule || !seen.insert(expr.rule).second) continue;
      order_.push_back(expr.rule);
      names_[expr.rule] = unique_name(syntax_.rules()[expr.rule].name, taken, numbers);
      open.push_back(syntax_.rules()[expr.rule].expr);
    }
  }

  /// `numbers`: the last one at the end of each name.
  static std::string unique_name(const std::string& wanted, std::set<std::string>& taken, std::map<std::string, int>& numbers) {
    std::string name;
    for (const char c : wanted.substr(0, 40)) {
      const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      name += fine ? c : '-';
    }
    if (name.empty()) name = "rule";
    std::string unique = name;
    int& number = numbers.emplace(name, 1).first->second;
    while (!taken.insert(unique).second) unique = fmt::format("{}-{}", name, ++number);
    return unique;
  }

  std::string written(ExprId id, Binding place) {
    const Expr& expr = syntax_.expr(id);
    switch (expr.kind) {
      case ExprKind::text:
        return literal(expr.text);
      case ExprKind::chars:
        return character_class(expr.chars);
      case ExprKind::rule:
        return names_[expr.rule];
      case ExprKind::repeat:
        return in_place(written(expr.children.front(), Binding::item) + quantifier(expr), Binding::sequence, place);
      case ExprKind::sequence:
        return expr.children.empty() ? "\"\"" : in_place(joined(expr.children, " ", Binding::sequence), Binding::sequence, place);
      case ExprKind::choice:
        return in_place(joined(expr.children, " | ", Binding::sequence), Binding::choice, place);
      case ExprKind::member:
      case ExprKind::complete:
        break;  // refused before
    }
    return "";
  }

  static std::string in_place(std::string text, Binding binding, Binding place) {
    return binding < place ? "(" + std::move(text) + ")" : std::move(text);
  }

  std::string joined(const std::vector<ExprId>& children, const char* separator, Binding place) {
    std::string text;
    for (const ExprId child : children) text.append(text.empty() ? "" : separator).append(written(child, place));
    return text;
  }

  static std::string quantifier(const Expr& expr) {
    if (expr.most == unbounded) {
      if (expr.least <= 1) return expr.least == 0 ? "*" : "+";
      return fmt::format("{{{},}}", expr.least);
    }
    if (expr.least == 0 && expr.most == 1) return "?";
    return expr.least == expr.most ? fmt::format("{{{}}}", expr.least) : fmt::format("{{{},{}}}", expr.least, expr.most);
  }

  static void append_character(std::string& out, char32_t c, std::string_view special) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c < 0x80 && special.find(static_cast<char>(c)) != std::string_view::npos) {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20 || (c == '^' || c == '-')) {
      out += special == "\"\\" && c >= 0x20 ? std::string(1, static_cast<char>(c)) : fmt::format("\\x{:02X}", static_cast<unsigned>(c));
    } else if (c < 0x7F) {
      out += static_cast<char>(c);
    } else if (c <= 0xFFFF) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out += fmt::format("\\U{:08X}", static_cast<unsigned>(c));
    }
  }

  static std::string literal(std::string_view bytes) {
    std::string out = "\"";
    while (!bytes.empty()) {
      const text::Utf8Front front = text::utf8_front(bytes);
      append_character(out, front.code_point, "\"\\");
      bytes.remove_prefix(front.size);
    }
    return out + "\"";
  }

  static std::string character_class(const CodePoints& set) {
    if (set == CodePoints::all()) return ".";
    if (set.ranges().size() == 1 && set.ranges().front().first == set.ranges().front().last) {
      std::string one;
      text::append_utf8(one, set.ranges().front().first);
      return literal(one);
    }
    const CodePoints rest = set.complement();
    const bool negated = rest.ranges().size() < set.ranges().size();
    std::string out = negated ? "[^" : "[";
    for (const CodePoints::Range& range : (negated ? rest : set).ranges()) {
      append_character(out, range.first, "[]\\");
      if (range.last == range.first) continue;
      if (range.last > range.first + 1) out += '-';
      append_character(out, range.last, "[]\\");
    }
    return out + "]";
  }

  const Syntax& syntax_;
  std::vector<RuleId> order_;
  std::map<RuleId, std::string> names_;
};

}  // namespace

std::string to_gbnf(const Syntax& syntax) { return Writer(syntax).write(); }

}  // namespace skipstone::grammar
