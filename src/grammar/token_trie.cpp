#include "grammar/token_trie.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/status.h"

namespace skipstone::grammar {

TokenTrie::TokenTrie(std::span<const std::string> pieces, std::vector<std::uint32_t> ends)
    : vocabulary_(pieces.size()), ends_(std::move(ends)) {
  for (const std::uint32_t end : ends_) {
    if (end >= vocabulary_) fail(Code::invalid_argument, "the end token {} is none of the vocabulary's {} tokens", end, vocabulary_);
  }
  std::vector<std::uint32_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return std::pair(pieces[a].compare(pieces[b]), a) < std::pair(0, b); });
  std::vector<std::uint32_t> path;  // the nodes of the token before
  std::string_view before;
  const auto close = [&](std::size_t depth) {
    for (; path.size() > depth; path.pop_back()) nodes_[path.back()].after = static_cast<std::uint32_t>(nodes_.size());
  };
  for (const std::uint32_t token : order) {
    const std::string_view piece = pieces[token];
    if (piece.empty() || std::ranges::find(ends_, token) != ends_.end()) continue;
    const std::size_t common = static_cast<std::size_t>(std::ranges::mismatch(before, piece).in1 - before.begin());
    close(common);
    for (std::size_t depth = common; depth < piece.size(); ++depth) {
      const auto index = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({.byte = static_cast<std::uint8_t>(piece[depth]),
                        .depth = static_cast<std::uint32_t>(depth + 1),
                        .parent = path.empty() ? index : path.back(),
                        .tokens = static_cast<std::uint32_t>(tokens_.size())});
      path.push_back(index);
    }
    tokens_.push_back(token);
    before = piece;
    deepest_ = std::max(deepest_, static_cast<std::uint32_t>(piece.size()));
  }
  close(0);
}

}  // namespace skipstone::grammar
