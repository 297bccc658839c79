// The suffix automaton of a text that grows: every phrase of it, its continuations and its places.
// Blumer et al., "The smallest automaton recognizing the subwords of a text", Theoretical Computer Science 40 (1985).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sample/sampler.h"

namespace skipstone::speculation {

using sample::Token;

/// At most 2n states and 3n edges for n tokens, about 150 bytes a token.
class SuffixAutomaton {
 public:
  SuffixAutomaton();

  /// Amortised O(1): edges are only ever added, and there are at most 3n of them.
  void append(Token token);
  std::span<const Token> text() const { return text_; }

  /// The longest suffix of the text that occurred in it before (it may overlap itself), in tokens; 0: its last token is new.
  std::uint32_t match_length() const { return states_[match()].length; }

  /// Where the text continued after earlier occurrences of the match: at most `most` of them, in no order, each below text().size(). Empty
  /// where the match has length 0.
  std::vector<std::uint32_t> continuations(std::uint32_t most) const;

 private:
  static constexpr std::uint32_t none = ~0u;
  /// Phrases that end at the same places. Those of a state are the suffixes, longer than its link's, of its longest one.
  struct State {
    std::uint32_t length = 0;                                                  ///< of the longest phrase
    std::uint32_t link = none;                                                 ///< the state of the longest suffix that has more places
    std::uint32_t child = none, next_sibling = none, previous_sibling = none;  ///< the tree of links, downwards
    std::uint32_t edges = none;                                                ///< the first of its list
    bool prefix = false;  ///< its longest phrase is a prefix of the text, hence `length` a place where it ends
  };
  struct Edge {
    std::uint32_t from = 0, to = 0;
    Token token = 0;
    std::uint32_t next = none;  ///< of the same state
  };

  /// The last state is the whole text, which occurs once; its link is the longest suffix that occurs more often.
  std::uint32_t match() const { return states_[last_].link == none ? 0 : states_[last_].link; }
  std::uint32_t add_state(std::uint32_t length, bool prefix);
  void set_link(std::uint32_t state, std::uint32_t link);
  std::uint32_t split(std::uint32_t parent, std::uint32_t state);
  std::size_t slot(std::uint32_t from, Token token) const;
  Edge* find(std::uint32_t from, Token token);
  void add_edge(std::uint32_t from, Token token, std::uint32_t to);
  void grow_table();

  std::vector<Token> text_;
  std::vector<State> states_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> table_;  ///< edges by state and token: open addressing, a power of two of slots
  std::uint32_t last_ = 0;
};

}  // namespace skipstone::speculation
