// What every notation becomes: rules of expressions over characters. The GBNF writer prints it, Program lowers it to bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "grammar/code_points.h"

namespace skipstone::grammar {

using ExprId = std::uint32_t;
using RuleId = std::uint32_t;

inline constexpr std::uint32_t unbounded = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::uint32_t undeclared_member = std::numeric_limits<std::uint32_t>::max();

enum class ExprKind : std::uint8_t {
  text,      ///< these bytes of UTF-8
  chars,     ///< one character of a set
  sequence,  ///< all of its children, in order; none: the empty text
  choice,    ///< one of its children; none: nothing fits
  repeat,    ///< its child `least` to `most` times
  rule,      ///< whatever a rule matches
  member,    ///< the empty text; the object of this rule has now the member `least`, which it must not have had
  complete,  ///< the empty text, where the object of this rule has the members that it must have
};

struct Expr {
  ExprKind kind = ExprKind::sequence;
  std::string text = {};
  CodePoints chars = {};
  std::vector<ExprId> children = {};
  RuleId rule = 0;
  std::uint32_t least = 0, most = 0;
};

/// What is counted of an object whose members may come in any order.
struct Members {
  std::vector<std::uint32_t> required = {};  ///< their numbers, ascending
  std::uint32_t least = 0, most = unbounded;
};

struct Rule {
  std::string name;
  ExprId expr = 0;
  bool defined = false;
  std::size_t line = 0, column = 0;  ///< where a grammar's text names it first; from 1, 0 where it was not written by a person
  bool has_members = false;
  Members members = {};
};

/// A grammar under construction. Every function that adds an expression throws Error (invalid_argument) where the grammar becomes too
/// large.
class Syntax {
 public:
  ExprId text(std::string bytes);
  ExprId chars(CodePoints set);
  ExprId sequence(std::vector<ExprId> children);
  ExprId choice(std::vector<ExprId> children);
  ExprId repeat(ExprId child, std::uint32_t least, std::uint32_t most);
  ExprId optional(ExprId child) { return repeat(child, 0, 1); }
  ExprId reference(RuleId rule);
  ExprId member(std::uint32_t number);
  ExprId complete();
  ExprId empty() { return sequence({}); }
  ExprId nothing() { return choice({}); }

  /// Names are made unique by a number at their end.
  RuleId add_rule(const std::string& name);
  void define(RuleId rule, ExprId expr);
  Rule& rule(RuleId id) { return rules_[id]; }

  const Expr& expr(ExprId id) const { return exprs_[id]; }
  const std::vector<Expr>& exprs() const { return exprs_; }
  const std::vector<Rule>& rules() const { return rules_; }
  RuleId root() const { return root_; }
  /// For every expression whether it matches the empty text.
  std::vector<bool> nullable() const { return derive(true); }

  /// Ends the construction: alternatives that no finite text fits are dropped, so that no text leads into a dead end. Throws
  /// invalid_argument for a rule that is left-recursive, with its line and column, and where nothing fits the root.
  void finish(RuleId root);

 private:
  ExprId add(Expr expr);
  std::vector<bool> derive(bool nullable) const;
  void drop_unproductive(const std::vector<bool>& productive);
  void refuse_left_recursion() const;

  std::vector<Expr> exprs_;
  std::vector<Rule> rules_;
  RuleId root_ = 0;
};

/// Sizes that no grammar of a person or a program has; larger ones are refused.
inline constexpr std::size_t most_exprs = 200'000;

}  // namespace skipstone::grammar
