#include "speculation/token_tree.h"

#include <algorithm>
#include <queue>
#include <vector>

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

namespace {

class Builder {
 public:
  Builder(std::span<const Token> text, std::span<const std::uint32_t> places, TextEnd end, const ContinuationLimits& limits)
      : text_(text),
        end_(end),
        limits_(limits),
        least_(limits.share * static_cast<double>(places.size())),
        places_(places.begin(), places.end()) {}

  TokenTree build() {
    expand(0, 0, 0, static_cast<std::uint32_t>(places_.size()));
    while (!open_.empty() && tree_.drafts() < limits_.drafts) {
      const Draft draft = open_.top();
      open_.pop();
      const std::uint32_t row = tree_.add(draft.parent, draft.token);
      if (draft.depth < limits_.depth) expand(row, draft.depth, draft.begin, draft.end);
    }
    return std::move(tree_);
  }

 private:
  struct Draft {
    std::uint32_t parent, depth, begin, end;  ///< [begin, end) of places_ reach it
    std::uint32_t number;                     ///< in the order in which drafts were found
    Token token;
    bool operator<(const Draft& other) const {
      const std::uint32_t count = end - begin, others = other.end - other.begin;
      if (count != others) return count < others;
      return depth != other.depth ? depth > other.depth : number > other.number;
    }
  };

  /// -1: there is no token.
  Token token(std::uint32_t place, std::uint32_t depth) const {
    const auto size = static_cast<std::uint32_t>(text_.size());
    if (depth < size - place) return text_[place + depth];
    return end_ == TextEnd::repeats ? text_[place + depth % (size - place)] : -1;
  }

  /// The drafts after `row`, which is `depth` deep and reached by [begin, end).
  void expand(std::uint32_t row, std::uint32_t depth, std::uint32_t begin, std::uint32_t end) {
    while (begin < end) {
      const Token next = token(places_[begin], depth);
      const auto first = places_.begin();
      const auto middle =
          std::stable_partition(first + begin, first + end, [&](std::uint32_t place) { return token(place, depth) == next; });
      const auto end = static_cast<std::uint32_t>(middle - first);
      if (next >= 0 && static_cast<double>(end - begin) >= least_) open_.push({row, depth + 1, begin, end, found_++, next});
      begin = end;
    }
  }

  std::span<const Token> text_;
  TextEnd end_;
  ContinuationLimits limits_;
  double least_;
  std::vector<std::uint32_t> places_;
  TokenTree tree_;
  std::priority_queue<Draft> open_;
  std::uint32_t found_ = 0;
};

}  // namespace

TokenTree continuation_tree(std::span<const Token> text, std::span<const std::uint32_t> places, TextEnd end,
                            const ContinuationLimits& limits) {
  return Builder(text, places, end, limits).build();
}

}  // namespace skipstone::speculation
