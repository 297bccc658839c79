#include "grammar/text_automaton.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/status.h"
#include "grammar/notations.h"
#include "text/utf8.h"

namespace skipstone::grammar {
namespace {

constexpr std::size_t most_states = 10'000, most_edges = 100'000, most_nodes = 50'000, most_merging = 30'000;
constexpr std::size_t most_steps = 10'000'000, steps_of_state = 100;  ///< nodes that are looked at: about a second, and what a state costs

[[noreturn]] void refuse_size() {
  fail(Code::invalid_argument, "the patterns, lengths or numbers need more than {} states together; use simpler ones", most_states);
}

/// States that are made in the order in which they are met.
template <typename Key>
class Numbering {
 public:
  std::uint32_t operator()(const Key& key) {
    const auto [found, is_new] = numbers_.emplace(key, static_cast<std::uint32_t>(keys_.size()));
    if (is_new) keys_.push_back(key);
    if (keys_.size() > most_states) refuse_size();
    return found->second;
  }
  std::size_t size() const { return keys_.size(); }
  Key operator[](std::size_t number) const { return keys_[number]; }

 private:
  std::map<Key, std::uint32_t> numbers_;
  std::vector<Key> keys_;
};

/// An expression as nodes whose edges read a character or nothing (Thompson 1968, "Regular expression search algorithm").
class Nondeterministic {
 public:
  explicit Nondeterministic(const Syntax& syntax) : syntax_(syntax) {}

  std::uint32_t add(const Expr& expr, std::uint32_t next) {
    count_steps(1);
    switch (expr.kind) {
      case ExprKind::sequence:
        for (auto child = expr.children.rbegin(); child != expr.children.rend(); ++child) next = add(syntax_.expr(*child), next);
        return next;
      case ExprKind::choice: {
        std::vector<std::uint32_t> skips;
        for (const ExprId child : expr.children) skips.push_back(add(syntax_.expr(child), next));
        return add_node({{}, 0, skips});
      }
      case ExprKind::repeat:
        return add_repeat(expr, next);
      default:
        return add_node({expr.chars, next, {}});
    }
  }

  std::uint32_t add_node() { return add_node({}); }

  std::vector<TextAutomaton::State> deterministic(std::uint32_t start, std::uint32_t end) {
    Numbering<std::vector<std::uint32_t>> numbering;
    std::vector<TextAutomaton::State> states;
    numbering(closed({start}));
    for (std::size_t i = 0; i < numbering.size(); ++i) {
      const std::vector<std::uint32_t> nodes = numbering[i];
      TextAutomaton::State state{.accepts = std::ranges::binary_search(nodes, end)};
      // Between neighbouring bounds all characters lead to the same nodes.
      std::set<char32_t> bounds;
      for (const std::uint32_t node : nodes) {
        for (const auto& range : nodes_[node].chars.ranges()) bounds.insert({range.first, range.last + 1});
      }
      for (auto bound = bounds.begin(); bound != bounds.end() && std::next(bound) != bounds.end(); ++bound) {
        std::vector<std::uint32_t> targets;
        count_steps(nodes.size());
        for (const std::uint32_t node : nodes) {
          if (nodes_[node].chars.contains(*bound)) targets.push_back(nodes_[node].next);
        }
        if (targets.empty()) continue;
        state.edges.push_back({*bound, *std::next(bound) - 1, numbering(closed(std::move(targets)))});
      }
      states.push_back(std::move(state));
    }
    return states;
  }

  std::size_t steps() const { return steps_; }

 private:
  struct Node {
    CodePoints chars;  ///< to `next`
    std::uint32_t next = 0;
    std::vector<std::uint32_t> skips;
  };

  std::uint32_t add_node(Node node) {
    if (nodes_.size() >= most_nodes) refuse_size();
    nodes_.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  void count_steps(std::size_t steps) {
    steps_ += steps;
    if (steps_ > most_steps) refuse_size();
  }

  std::uint32_t add_repeat(const Expr& expr, std::uint32_t next) {
    const Expr& child = syntax_.expr(expr.children.front());
    if (expr.most == unbounded) {
      const std::uint32_t loop = add_node();
      const std::uint32_t body = add(child, loop);
      nodes_[loop].skips = {body, next};
      next = loop;
    } else {
      const std::uint32_t after = next;
      for (std::uint32_t i = expr.least; i < expr.most; ++i) {
        const std::uint32_t body = add(child, next);
        if (body == next) break;  // rounds of the empty text alone are none
        next = add_node({{}, 0, {body, after}});
      }
    }
    for (std::uint32_t i = 0, body = next; i < expr.least; ++i, next = body) {
      body = add(child, next);
      if (body == next) break;
    }
    return next;
  }

  std::vector<std::uint32_t> closed(std::vector<std::uint32_t> nodes) {
    std::set<std::uint32_t> all;
    while (!nodes.empty()) {
      const std::uint32_t node = nodes.back();
      nodes.pop_back();
      if (!all.insert(node).second) continue;
      nodes.insert(nodes.end(), nodes_[node].skips.begin(), nodes_[node].skips.end());
      count_steps(1 + nodes_[node].skips.size());
    }
    return {all.begin(), all.end()};
  }

  const Syntax& syntax_;
  std::vector<Node> nodes_;
  std::size_t steps_ = 0;
};

constexpr std::uint32_t no_state = static_cast<std::uint32_t>(-1);

/// Where `state` goes with `c`; `bound` becomes smaller where another answer begins before it.
std::uint32_t target_of(const TextAutomaton::State& state, char32_t c, char32_t& bound) {
  const auto edge = std::ranges::lower_bound(state.edges, c, {}, &TextAutomaton::Edge::last);
  if (edge == state.edges.end()) return no_state;
  if (edge->first > c) {
    bound = std::min(bound, edge->first);
    return no_state;
  }
  bound = std::min<char32_t>(bound, edge->last + 1);
  return edge->target;
}

}  // namespace

TextAutomaton::TextAutomaton() : states_{{{{0, last_code_point, 0}}, true}} {}

TextAutomaton TextAutomaton::of_texts(std::span<const std::string> texts) {
  std::vector<State> states(1);
  std::map<std::pair<std::uint32_t, char32_t>, std::uint32_t> children;
  for (std::string_view text : texts) {
    std::uint32_t at = 0;
    while (!text.empty()) {
      const text::Utf8Front front = text::utf8_front(text);
      const auto [child, is_new] = children.emplace(std::pair(at, front.code_point), static_cast<std::uint32_t>(states.size()));
      if (is_new) states.emplace_back();
      if (states.size() > most_edges) refuse_size();
      at = child->second;
      text.remove_prefix(front.size);
    }
    states[at].accepts = true;
  }
  for (const auto& [from, child] : children) states[from.first].edges.push_back({from.second, from.second, child});
  return TextAutomaton(std::move(states));
}

TextAutomaton TextAutomaton::of_pattern(std::string_view regex) {
  Syntax syntax;
  const ExprId expr = add_regex(syntax, regex, Anchoring::search);
  Nondeterministic nodes(syntax);
  const std::uint32_t end = nodes.add_node();
  const std::uint32_t start = nodes.add(syntax.expr(expr), end);
  TextAutomaton automaton(nodes.deterministic(start, end));
  automaton.cost_ += nodes.steps() / steps_of_state;
  return automaton;
}

TextAutomaton TextAutomaton::of_length(std::uint64_t least, std::optional<std::uint64_t> most) {
  const std::uint64_t last = most.value_or(least);
  if (last >= most_states) refuse_size();
  std::vector<State> states;
  for (std::uint64_t length = 0; length <= last; ++length) {
    State state{.accepts = length >= least};
    const std::uint64_t next = length < last ? length + 1 : length;
    if (length < last || !most) state.edges.push_back({0, last_code_point, static_cast<std::uint32_t>(next)});
    states.push_back(std::move(state));
  }
  return TextAutomaton(std::move(states));
}

TextAutomaton TextAutomaton::complement() const {
  std::vector<State> states = states_;
  if (states.empty()) states.emplace_back();
  const auto others = static_cast<std::uint32_t>(states.size());
  for (State& state : states) {
    state.accepts = !state.accepts;
    std::vector<Edge> edges;
    char32_t next = 0;
    for (const Edge& edge : state.edges) {
      if (edge.first > next) edges.push_back({next, edge.first - 1, others});
      edges.push_back(edge);
      next = edge.last + 1;
    }
    if (next <= last_code_point) edges.push_back({next, last_code_point, others});
    state.edges = std::move(edges);
  }
  states.push_back({{{0, last_code_point, others}}, true});
  return TextAutomaton(std::move(states));
}

TextAutomaton operator&(const TextAutomaton& a, const TextAutomaton& b) {
  std::vector<TextAutomaton::State> states;
  if (a.is_empty() || b.is_empty()) return TextAutomaton(states);
  Numbering<std::pair<std::uint32_t, std::uint32_t>> numbering;
  numbering({0, 0});
  std::size_t edges = 0;
  for (std::size_t i = 0; i < numbering.size(); ++i) {
    const auto [left, right] = numbering[i];
    TextAutomaton::State state{.accepts = a.states_[left].accepts && b.states_[right].accepts};
    for (char32_t c = 0; c <= last_code_point;) {
      char32_t bound = last_code_point + 1;
      const std::uint32_t to_left = target_of(a.states_[left], c, bound), to_right = target_of(b.states_[right], c, bound);
      if (to_left != no_state && to_right != no_state) state.edges.push_back({c, bound - 1, numbering({to_left, to_right})});
      c = bound;
    }
    edges += state.edges.size();
    if (edges > most_edges) refuse_size();
    states.push_back(std::move(state));
  }
  return TextAutomaton(std::move(states));
}

bool TextAutomaton::contains(std::string_view text) const {
  if (is_empty()) return false;
  std::uint32_t at = 0;
  while (!text.empty()) {
    const text::Utf8Front front = text::utf8_front(text);
    char32_t bound = 0;
    if (front.kind == text::Utf8Front::Kind::character) at = target_of(states_[at], front.code_point, bound);
    if (at == no_state || front.kind != text::Utf8Front::Kind::character) return false;
    text.remove_prefix(front.size);
  }
  return states_[at].accepts;
}

void TextAutomaton::reduce() {
  drop_dead_ends();
  merge_equal_states();
}

void TextAutomaton::drop_dead_ends() {
  std::vector<std::vector<std::uint32_t>> sources(states_.size());
  std::vector<bool> alive(states_.size());
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    for (const Edge& edge : states_[i].edges) sources[edge.target].push_back(i);
    alive[i] = states_[i].accepts;
    if (alive[i]) open.push_back(i);
  }
  while (!open.empty()) {
    const std::uint32_t state = open.back();
    open.pop_back();
    for (const std::uint32_t source : sources[state]) {
      if (!alive[source]) open.push_back(source);
      alive[source] = true;
    }
  }
  if (states_.empty() || !alive[0]) {
    states_.clear();
    return;
  }
  for (State& state : states_) std::erase_if(state.edges, [&](const Edge& edge) { return !alive[edge.target]; });
}

/// Splits classes of states until the members of each have the same edges (Moore 1956, "Gedanken-experiments on sequential machines"), and
/// keeps one state of each class, in the order in which they are reached.
void TextAutomaton::merge_equal_states() {
  if (states_.empty()) return;
  using Signature = std::pair<std::uint32_t, std::vector<std::pair<CodePoints::Range, std::uint32_t>>>;
  std::vector<std::uint32_t> classes(states_.size());
  for (std::size_t i = 0; i < states_.size(); ++i) classes[i] = states_[i].accepts ? 1 : 0;
  std::size_t count = 0;
  const auto signature = [&](std::size_t i) {
    Signature found{classes[i], {}};
    for (const Edge& edge : states_[i].edges) {
      const std::uint32_t target = classes[edge.target];
      if (!found.second.empty() && found.second.back().second == target && found.second.back().first.last + 1 == edge.first) {
        found.second.back().first.last = edge.last;
      } else {
        found.second.push_back({{edge.first, edge.last}, target});
      }
    }
    return found;
  };
  std::vector<std::uint32_t> next(states_.size());
  for (std::size_t work = 0;; work += states_.size()) {
    if (work > most_merging) return;  // a long chain takes as many rounds as it has states; it stays as it is
    std::map<Signature, std::uint32_t> numbers;
    for (std::size_t i = 0; i < states_.size(); ++i)
      next[i] = numbers.emplace(signature(i), static_cast<std::uint32_t>(numbers.size())).first->second;
    classes = next;
    if (numbers.size() == count) break;
    count = numbers.size();
  }
  std::vector<std::uint32_t> numbers(count, no_state), order;
  const auto number = [&](std::uint32_t state) {
    std::uint32_t& known = numbers[classes[state]];
    if (known == no_state) {
      known = static_cast<std::uint32_t>(order.size());
      order.push_back(state);
    }
    return known;
  };
  number(0);
  std::vector<State> merged;
  for (std::size_t i = 0; i < order.size(); ++i) {
    State state{.accepts = states_[order[i]].accepts};
    for (const Edge& edge : states_[order[i]].edges) {
      const std::uint32_t target = number(edge.target);
      if (!state.edges.empty() && state.edges.back().target == target && state.edges.back().last + 1 == edge.first) {
        state.edges.back().last = edge.last;
      } else {
        state.edges.push_back({edge.first, edge.last, target});
      }
    }
    merged.push_back(std::move(state));
  }
  states_ = std::move(merged);
}

}  // namespace skipstone::grammar
