#include "speculation/token_tree.h"

#include <algorithm>

namespace skipstone::speculation {

TokenTree TokenTree::chain(Token pending, std::span<const Token> drafts) {
  TokenTree tree(pending);
  for (const Token token : drafts) tree.add(tree.rows() - 1, token);
  return tree;
}

std::optional<std::uint32_t> TokenTree::child(std::uint32_t row, Token token) const {
  for (std::uint32_t i = row + 1; i < rows(); ++i) {
    if (parents_[i] == row && tokens_[i] == token) return i;
  }
  return std::nullopt;
}

std::uint32_t TokenTree::add(std::uint32_t parent, Token token) {
  if (const auto known = child(parent, token)) return *known;
  tokens_.push_back(token);
  parents_.push_back(parent);
  depths_.push_back(depths_[parent] + 1);
  return rows() - 1;
}

std::uint32_t TokenTree::add_path(std::uint32_t from, std::span<const Token> path, std::uint32_t most_rows) {
  for (const Token token : path) {
    const auto known = child(from, token);
    if (!known && rows() >= most_rows) break;
    from = known ? *known : add(from, token);
  }
  return from;
}

std::uint32_t TokenTree::height() const { return *std::ranges::max_element(depths_); }

TokenTree TokenTree::pruned(std::uint32_t most_rows, std::uint32_t most_depth, const std::function<bool(Token)>& ends) const {
  constexpr std::uint32_t left_out = ~0u;
  TokenTree tree(tokens_[0]);
  std::vector<std::uint32_t> place(tokens_.size(), left_out);
  place[0] = 0;
  for (std::uint32_t row = 1; row < rows() && tree.rows() < most_rows; ++row) {
    const std::uint32_t parent = place[parents_[row]];
    const bool after_end = parents_[row] != 0 && ends && ends(tokens_[parents_[row]]);
    if (parent == left_out || after_end || tokens_[row] < 0 || depths_[row] > most_depth) continue;
    place[row] = tree.add(parent, tokens_[row]);
  }
  return tree;
}

}  // namespace skipstone::speculation
