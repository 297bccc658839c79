// Deterministic automata over characters: what patterns, formats and numbers become where they have to be combined.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/syntax.h"

namespace skipstone::grammar {

/// A regular set of texts. Every state lies on the way to an accepting one; equal states are merged where that takes no long time.
/// Functions that make one throw invalid_argument where it would have too many states.
class TextAutomaton {
 public:
  struct Edge {
    char32_t first = 0, last = 0;
    std::uint32_t target = 0;
  };
  struct State {
    std::vector<Edge> edges = {};  ///< ascending, without overlap
    bool accepts = false;
  };

  /// All texts.
  TextAutomaton();
  /// Of states that may be redundant; the first is where texts begin.
  explicit TextAutomaton(std::vector<State> states) : states_(std::move(states)), cost_(states_.size()) { reduce(); }
  static TextAutomaton of_texts(std::span<const std::string> texts);
  /// The texts in a part of which `regex` fits (Anchoring::search).
  static TextAutomaton of_pattern(std::string_view regex);
  /// The texts of `least` to `most` characters.
  static TextAutomaton of_length(std::uint64_t least, std::optional<std::uint64_t> most);

  TextAutomaton complement() const;
  friend TextAutomaton operator&(const TextAutomaton& a, const TextAutomaton& b);
  friend TextAutomaton operator-(const TextAutomaton& a, const TextAutomaton& b) { return a & b.complement(); }

  bool is_empty() const { return states_.empty(); }
  bool contains(std::string_view text) const;
  const std::vector<State>& states() const { return states_; }
  /// How many states it was made from, for limits on the work of many.
  std::size_t cost() const { return cost_; }

  /// Adds the set to a grammar; `written` makes the expression of one character. `name`: of the rules.
  ExprId add_to(Syntax& syntax, const std::string& name, const std::function<ExprId(const CodePoints&)>& written) const;

 private:
  void reduce();
  void drop_dead_ends();
  void merge_equal_states();

  std::vector<State> states_;  ///< none: the empty set
  std::size_t cost_ = 1;
};

}  // namespace skipstone::grammar
