// The merging both kinds of BPE share: symbols in a row, and a queue of neighbours to join, best first, leftmost first among equals.
// O(n log n) in the number of symbols, so that even a single word of a megabyte is fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

#include "base/poll.h"
#include "base/status.h"

namespace skipstone::text {

/// A symbol in the row; `size` 0 marks one that was merged into its left neighbour.
struct Symbol {
  std::size_t begin = 0;  ///< byte offset into the word
  std::size_t size = 0;   ///< bytes
  std::uint32_t id = 0;   ///< the tokenizer's number for it
  std::ptrdiff_t previous = -1, next = -1;
};

/// The merge of two neighbours.
struct Merge {
  double cost = 0;       ///< smaller is merged first
  std::uint32_t id = 0;  ///< of the merged symbol
};

/// The two symbols of a vocabulary's merge, which are written with a space between. Throws bad_file.
inline std::pair<std::string_view, std::string_view> symbols_of(std::string_view merge, std::size_t rank) {
  const std::size_t space = merge.find(' ', 1);
  if (space == std::string_view::npos || space + 1 == merge.size()) {
    fail(Code::bad_file, "Merge {} of the vocabulary, \"{}\", is not two symbols with a space between.", rank, merge);
  }
  return {merge.substr(0, space), merge.substr(space + 1)};
}

inline std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) { return (std::uint64_t{left} << 32) | right; }

/// Merges `symbols` until no two neighbours can merge. `lookup(left, right, merge)` fills `merge` and returns true where two can.
template <typename Lookup>
void merge_pairs(std::vector<Symbol>& symbols, Lookup&& lookup) {
  struct Candidate {
    double cost;
    std::ptrdiff_t left, right;
    std::size_t size;
    std::uint32_t id;
    bool operator<(const Candidate& other) const {
      return cost != other.cost ? cost > other.cost : left > other.left;  // priority_queue gives the greatest first
    }
  };
  const auto count = static_cast<std::ptrdiff_t>(symbols.size());
  const auto at = [&symbols](std::ptrdiff_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  Poll* const asking = Poll::current();
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    if (asking != nullptr && i % 4096 == 4095) asking->work(512);
    at(i).previous = i - 1;
    at(i).next = i + 1 < count ? i + 1 : -1;
  }
  // A large queue that grows would be copied without a poll.
  std::vector<Candidate> room;
  if (count > 4096) room.reserve(symbols.size());
  std::priority_queue<Candidate> queue({}, std::move(room));
  const auto consider = [&](std::ptrdiff_t left, std::ptrdiff_t right) {
    if (asking != nullptr) asking->work(1);
    Merge merge;
    if (left < 0 || right < 0 || !lookup(at(left), at(right), merge)) return;
    queue.push({merge.cost, left, right, at(left).size + at(right).size, merge.id});
  };
  for (std::ptrdiff_t i = 1; i < count; ++i) consider(i - 1, i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    if (asking != nullptr) asking->work(2);  // popping a large queue takes longer than anything else here
    Symbol& left = at(best.left);
    Symbol& right = at(best.right);
    // Stale where one of the two has been merged since: sizes only ever grow, or become 0.
    if (left.size == 0 || right.size == 0 || left.size + right.size != best.size) continue;
    left.size = best.size;
    left.id = best.id;
    left.next = right.next;
    right.size = 0;
    if (left.next >= 0) at(left.next).previous = best.left;
    consider(left.previous, best.left);
    consider(best.left, left.next);
  }
}

}  // namespace skipstone::text
