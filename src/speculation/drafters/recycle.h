// Token Recycling: the tokens that the model found likely after a token when it was last verified are drafted after it the next time.
// Luo et al., "Turning Trash into Treasure: Accelerating Inference of Large Language Models with Token Recycling", 2024 (arXiv 2408.08696).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "speculation/drafter.h"
#include "speculation/options.h"

namespace skipstone::speculation {

/// The adjacency matrix: for each token that was seen the likeliest ones after it. Rows of tokens that were not seen take no memory.
class RecycleMatrix {
 public:
  explicit RecycleMatrix(std::uint32_t width) : width_(width) {}

  /// Takes the likeliest tokens after a verification's rows, `top` for each (at least the width); where a token is in several rows, the
  /// last one counts.
  void update(std::span<const Token> tokens, std::span<const Token> top);
  /// The likeliest first; empty where `token` was not seen, -1 where there are fewer.
  std::span<const Token> after(Token token) const;

 private:
  std::uint32_t width_;
  std::vector<Token> next_;  ///< [rows][width]
  std::unordered_map<Token, std::uint32_t> row_;
};

/// A node of the tree that every round is drafted as: it takes the `rank`-th token after its parent's.
struct TemplateNode {
  std::uint32_t parent = 0, rank = 0;  ///< parent 0: the pending token; node i of the template is i + 1
};

/// The `drafts` nodes that are likeliest to be right with this many ranks, the likeliest first, a parent before its children, if the token
/// of each rank is right with a fixed share (recycle.cpp). The paper's tree has 80 nodes.
std::vector<TemplateNode> recycle_template(std::uint32_t ranks, std::uint32_t drafts);

}  // namespace skipstone::speculation
