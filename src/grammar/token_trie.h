// A vocabulary by its bytes: what tokens have in common at their beginnings is looked at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace skipstone::grammar {

/// Immutable; shared by threads. The nodes are in the order of a walk: what follows a node and lies deeper is under it.
class TokenTrie {
 public:
  struct Node {
    std::uint8_t byte = 0;
    std::uint32_t depth = 0;   ///< bytes from the root, this one included
    std::uint32_t after = 0;   ///< the first node that is not under this one
    std::uint32_t parent = 0;  ///< itself for a node of the first byte
    std::uint32_t tokens = 0;  ///< where its tokens begin among tokens(); they end where the next node's begin
  };

  /// `pieces`: the bytes of each token. Empty ones (control tokens) are never allowed, except those of `ends`, which end a text.
  /// Throws invalid_argument for an end token outside the vocabulary.
  TokenTrie(std::span<const std::string> pieces, std::vector<std::uint32_t> ends);

  std::size_t vocabulary() const { return vocabulary_; }
  /// How many words of 32 bits a mask over the vocabulary has.
  std::size_t mask_words() const { return (vocabulary_ + 31) / 32; }
  std::span<const Node> nodes() const { return nodes_; }
  /// The tokens whose bytes end at a node.
  std::span<const std::uint32_t> tokens(std::size_t node) const {
    const std::size_t end = node + 1 < nodes_.size() ? nodes_[node + 1].tokens : tokens_.size();
    return std::span(tokens_).subspan(nodes_[node].tokens, end - nodes_[node].tokens);
  }
  std::span<const std::uint32_t> ends() const { return ends_; }
  std::uint32_t deepest() const { return deepest_; }

 private:
  std::size_t vocabulary_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> tokens_, ends_;
  std::uint32_t deepest_ = 0;
};

}  // namespace skipstone::grammar
