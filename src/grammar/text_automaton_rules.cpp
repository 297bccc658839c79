// A set of texts as rules of a grammar: each state is an expression, those that several states lead to are rules.
#include <map>
#include <optional>
#include <utility>

#include "grammar/text_automaton.h"

namespace skipstone::grammar {
namespace {

constexpr int deepest_expr = 20;  ///< states that are written inside of each other

class RulesOfStates {
 public:
  RulesOfStates(Syntax& syntax, std::span<const TextAutomaton::State> states, const std::string& name,
                const std::function<ExprId(const CodePoints&)>& written)
      : syntax_(syntax), states_(states), name_(name), written_(written), entries_(states.size()), rules_(states.size()) {
    for (const auto& state : states) {
      for (const auto& [target, chars] : targets(state)) ++entries_[target];
    }
    ++entries_[0];
  }

  ExprId add() {
    const ExprId start = reference(0);
    while (!open_.empty()) {
      const std::uint32_t state = open_.back();
      open_.pop_back();
      syntax_.define(*rules_[state], expression(state, 0));
    }
    return start;
  }

 private:
  static std::map<std::uint32_t, CodePoints> targets(const TextAutomaton::State& state) {
    std::map<std::uint32_t, CodePoints> by_target;
    for (const auto& edge : state.edges) by_target[edge.target].add(edge.first, edge.last);
    return by_target;
  }

  ExprId reference(std::uint32_t state) {
    if (!rules_[state]) {
      rules_[state] = syntax_.add_rule(name_);
      open_.push_back(state);
    }
    return syntax_.reference(*rules_[state]);
  }

  ExprId expression(std::uint32_t state, int depth) {
    std::vector<ExprId> alternatives;
    for (const auto& [target, chars] : targets(states_[state])) alternatives.push_back(step(state, target, chars, depth));
    if (states_[state].accepts) alternatives.push_back(syntax_.empty());
    return syntax_.choice(std::move(alternatives));
  }

  /// A character and what follows it. A state that leads to itself alone is a repetition.
  ExprId step(std::uint32_t state, std::uint32_t target, const CodePoints& chars, int depth) {
    const ExprId first = written_(chars);
    const auto next = targets(states_[target]);
    if (next.empty()) return first;
    const bool repeats = next.size() == 1 && next.begin()->first == target && states_[target].accepts;
    if (repeats) return syntax_.sequence({first, syntax_.repeat(written_(next.begin()->second), 0, unbounded)});
    const bool inside = entries_[target] == 1 && target != state && depth < deepest_expr && !rules_[target];
    return syntax_.sequence({first, inside ? expression(target, depth + 1) : reference(target)});
  }

  Syntax& syntax_;
  std::span<const TextAutomaton::State> states_;
  const std::string& name_;
  const std::function<ExprId(const CodePoints&)>& written_;
  std::vector<std::size_t> entries_;  ///< how many states lead to each
  std::vector<std::optional<RuleId>> rules_;
  std::vector<std::uint32_t> open_;  ///< states whose rules are not defined yet
};

}  // namespace

ExprId TextAutomaton::add_to(Syntax& syntax, const std::string& name, const std::function<ExprId(const CodePoints&)>& written) const {
  if (is_empty()) return syntax.nothing();
  return RulesOfStates(syntax, states_, name, written).add();
}

}  // namespace skipstone::grammar
