#include "speculation/continuation_tree.h"

#include <algorithm>
#include <queue>
#include <vector>

namespace skipstone::speculation {
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
