#include "speculation/suffix_automaton.h"

namespace skipstone::speculation {

SuffixAutomaton::SuffixAutomaton() : states_(1), table_(16, none) {}

std::uint32_t SuffixAutomaton::add_state(std::uint32_t length, bool prefix) {
  State state;
  state.length = length;
  state.prefix = prefix;
  states_.push_back(state);
  return static_cast<std::uint32_t>(states_.size()) - 1;
}

void SuffixAutomaton::set_link(std::uint32_t state, std::uint32_t link) {
  State& s = states_[state];
  if (s.link != none) {
    (s.previous_sibling == none ? states_[s.link].child : states_[s.previous_sibling].next_sibling) = s.next_sibling;
    if (s.next_sibling != none) states_[s.next_sibling].previous_sibling = s.previous_sibling;
  }
  s.link = link;
  s.previous_sibling = none;
  s.next_sibling = states_[link].child;
  if (s.next_sibling != none) states_[s.next_sibling].previous_sibling = state;
  states_[link].child = state;
}

/// Where the edge is, or the free slot where it belongs.
std::size_t SuffixAutomaton::slot(std::uint32_t from, Token token) const {
  std::uint64_t hash = (std::uint64_t{from} << 32U) ^ static_cast<std::uint32_t>(token);
  hash = (hash ^ (hash >> 29U)) * 0xbf58476d1ce4e5b9u;  // a step of SplitMix64 (Steele et al. 2014)
  std::size_t at = (hash ^ (hash >> 32U)) & (table_.size() - 1);
  while (table_[at] != none && (edges_[table_[at]].from != from || edges_[table_[at]].token != token)) at = (at + 1) & (table_.size() - 1);
  return at;
}

SuffixAutomaton::Edge* SuffixAutomaton::find(std::uint32_t from, Token token) {
  const std::uint32_t edge = table_[slot(from, token)];
  return edge == none ? nullptr : &edges_[edge];
}

void SuffixAutomaton::add_edge(std::uint32_t from, Token token, std::uint32_t to) {
  if (2 * (edges_.size() + 1) > table_.size()) grow_table();
  const auto edge = static_cast<std::uint32_t>(edges_.size());
  table_[slot(from, token)] = edge;
  edges_.push_back({from, to, token, states_[from].edges});
  states_[from].edges = edge;
}

void SuffixAutomaton::grow_table() {
  table_.assign(2 * table_.size(), none);
  for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) table_[slot(edges_[edge].from, edges_[edge].token)] = edge;
}

/// A state for the phrases of `state` that are no longer than the one that `parent` reaches it with: they have more places from now on.
std::uint32_t SuffixAutomaton::split(std::uint32_t parent, std::uint32_t state) {
  const std::uint32_t shorter = add_state(states_[parent].length + 1, false);
  for (std::uint32_t edge = states_[state].edges; edge != none; edge = edges_[edge].next) {
    const Edge copied = edges_[edge];
    add_edge(shorter, copied.token, copied.to);
  }
  set_link(shorter, states_[state].link);
  set_link(state, shorter);
  return shorter;
}

void SuffixAutomaton::append(Token token) {
  text_.push_back(token);
  const std::uint32_t state = add_state(static_cast<std::uint32_t>(text_.size()), true);
  std::uint32_t parent = last_;
  last_ = state;
  for (; parent != none && find(parent, token) == nullptr; parent = states_[parent].link) add_edge(parent, token, state);
  if (parent == none) return set_link(state, 0);
  const std::uint32_t target = find(parent, token)->to;
  if (states_[target].length == states_[parent].length + 1) return set_link(state, target);
  const std::uint32_t shorter = split(parent, target);
  set_link(state, shorter);
  for (; parent != none; parent = states_[parent].link) {
    Edge* edge = find(parent, token);
    if (edge == nullptr || edge->to != target) break;
    edge->to = shorter;
  }
}

std::vector<std::uint32_t> SuffixAutomaton::continuations(std::uint32_t most) const {
  std::vector<std::uint32_t> places;
  if (match_length() == 0) return places;
  // The places of a state are those of its children and, for a prefix, its own end. A state that is neither has two children at least, so
  // no more than twice as many states are looked at as places are found.
  std::vector<std::uint32_t> open = {match()};
  while (!open.empty() && places.size() < most) {
    const std::uint32_t at = open.back();
    const State& state = states_[at];
    open.pop_back();
    if (state.prefix && state.length < text_.size()) places.push_back(state.length);
    if (at != match() && state.next_sibling != none) open.push_back(state.next_sibling);
    if (state.child != none) open.push_back(state.child);
  }
  return places;
}

}  // namespace skipstone::speculation
