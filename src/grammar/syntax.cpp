#include "grammar/syntax.h"

#include <algorithm>
#include <utility>

#include "base/escape.h"
#include "base/status.h"

namespace skipstone::grammar {

ExprId Syntax::add(Expr expr) {
  if (exprs_.size() >= most_exprs) fail(Code::invalid_argument, "the grammar has more than {} parts", most_exprs);
  exprs_.push_back(std::move(expr));
  return static_cast<ExprId>(exprs_.size() - 1);
}

ExprId Syntax::text(std::string bytes) { return add({.kind = ExprKind::text, .text = std::move(bytes)}); }
ExprId Syntax::chars(CodePoints set) { return set.is_empty() ? nothing() : add({.kind = ExprKind::chars, .chars = std::move(set)}); }
ExprId Syntax::sequence(std::vector<ExprId> children) {
  std::erase_if(children, [&](ExprId child) { return exprs_[child].kind == ExprKind::sequence && exprs_[child].children.empty(); });
  return children.size() == 1 ? children.front() : add({.kind = ExprKind::sequence, .children = std::move(children)});
}
ExprId Syntax::choice(std::vector<ExprId> children) {
  return children.size() == 1 ? children.front() : add({.kind = ExprKind::choice, .children = std::move(children)});
}
ExprId Syntax::repeat(ExprId child, std::uint32_t least, std::uint32_t most) {
  if (least == 1 && most == 1) return child;
  return add({.kind = ExprKind::repeat, .children = {child}, .least = least, .most = most});
}
ExprId Syntax::reference(RuleId rule) { return add({.kind = ExprKind::rule, .rule = rule}); }
ExprId Syntax::member(std::uint32_t number) { return add({.kind = ExprKind::member, .least = number}); }
ExprId Syntax::complete() { return add({.kind = ExprKind::complete}); }

RuleId Syntax::add_rule(const std::string& name) {
  rules_.push_back({.name = name});
  return static_cast<RuleId>(rules_.size() - 1);
}

void Syntax::define(RuleId rule, ExprId expr) {
  rules_[rule].expr = expr;
  rules_[rule].defined = true;
}

/// For every expression whether it matches the empty text (`nullable`), or else any finite text at all. Linear: an expression is looked at
/// once for each child that becomes true (Dowling and Gallier 1984, "Linear-time algorithms for testing the satisfiability of propositional
/// Horn formulae").
std::vector<bool> Syntax::derive(bool nullable) const {
  std::vector<std::vector<ExprId>> parents(exprs_.size()), users(rules_.size());
  std::vector<std::vector<RuleId>> defines(exprs_.size());
  std::vector<std::size_t> missing(exprs_.size());
  std::vector<bool> holds(exprs_.size());
  std::vector<ExprId> ready;
  const auto settle = [&](ExprId id) {
    if (holds[id]) return;
    holds[id] = true;
    ready.push_back(id);
  };
  for (RuleId rule = 0; rule < rules_.size(); ++rule) {
    if (rules_[rule].defined) defines[rules_[rule].expr].push_back(rule);
  }
  for (ExprId id = 0; id < exprs_.size(); ++id) {
    const Expr& expr = exprs_[id];
    for (const ExprId child : expr.children) parents[child].push_back(id);
    if (expr.kind == ExprKind::rule) users[expr.rule].push_back(id);
    missing[id] = expr.kind == ExprKind::sequence ? expr.children.size() : 1;
    const bool at_once = expr.kind == ExprKind::member || expr.kind == ExprKind::complete ||
                         (expr.kind == ExprKind::text && (!nullable || expr.text.empty())) || (expr.kind == ExprKind::chars && !nullable) ||
                         (expr.kind == ExprKind::sequence && expr.children.empty()) || (expr.kind == ExprKind::repeat && expr.least == 0);
    if (at_once) settle(id);
  }
  while (!ready.empty()) {
    const ExprId id = ready.back();
    ready.pop_back();
    for (const ExprId parent : parents[id]) {
      if (missing[parent] > 0 && --missing[parent] == 0) settle(parent);
    }
    for (const RuleId rule : defines[id]) {
      for (const ExprId user : users[rule]) settle(user);
    }
  }
  return holds;
}

void Syntax::drop_unproductive(const std::vector<bool>& productive) {
  for (Expr& expr : exprs_) {
    if (expr.kind == ExprKind::choice) std::erase_if(expr.children, [&](ExprId child) { return !productive[child]; });
    if (expr.kind == ExprKind::repeat && !productive[expr.children.front()]) expr = Expr{};
  }
}

void Syntax::refuse_left_recursion() const {
  const std::vector<bool> nullable = this->nullable();
  enum class Mark : std::uint8_t { fresh, open, done };
  std::vector<Mark> marks(exprs_.size(), Mark::fresh);
  struct Visit {
    ExprId id;
    std::size_t next = 0;
  };
  // What may be at the beginning of an expression; a cycle of it is a left recursion.
  const auto leftmost = [&](const Visit& visit) -> const ExprId* {
    const Expr& expr = exprs_[visit.id];
    if (expr.kind == ExprKind::rule) return visit.next == 0 ? &rules_[expr.rule].expr : nullptr;
    if (visit.next >= expr.children.size()) return nullptr;
    if (expr.kind == ExprKind::sequence && visit.next > 0 && !nullable[expr.children[visit.next - 1]]) return nullptr;
    return &expr.children[visit.next];
  };
  for (const Rule& rule : rules_) {
    if (!rule.defined || marks[rule.expr] == Mark::done) continue;
    std::vector<Visit> path{{rule.expr}};
    while (!path.empty()) {
      Visit& top = path.back();
      marks[top.id] = Mark::open;
      const ExprId* const child = leftmost(top);
      if (child == nullptr) {
        marks[top.id] = Mark::done;
        path.pop_back();
        continue;
      }
      ++top.next;
      if (marks[*child] == Mark::open) {
        const Rule* in_cycle = &rule;
        for (const Visit& visit : path) {
          if (exprs_[visit.id].kind == ExprKind::rule) in_cycle = &rules_[exprs_[visit.id].rule];
        }
        fail(Code::invalid_argument, "line {}, column {}: the rule '{}' is left-recursive: it can begin with itself", in_cycle->line,
             in_cycle->column, shortened(in_cycle->name));
      }
      if (marks[*child] == Mark::fresh) path.push_back({*child});
    }
  }
}

void Syntax::finish(RuleId root) {
  root_ = root;
  refuse_left_recursion();
  const std::vector<bool> productive = derive(false);
  if (!productive[rules_[root].expr]) fail(Code::invalid_argument, "nothing fits: no finite text fits the grammar's root");
  drop_unproductive(productive);
}

}  // namespace skipstone::grammar
