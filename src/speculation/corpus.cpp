// Suffix arrays by SA-IS: Nong, Zhang and Chan, "Two Efficient Algorithms for Linear Time Suffix Array Construction", IEEE Transactions on
// Computers 60 (2011). The suffixes that are smaller than the next one and follow a larger one (leftmost S-type, LMS) are sorted first, by
// recursion on a text of at most half the length; two scans induce the order of all others from theirs.
#include "speculation/corpus.h"

#include <algorithm>

#include "base/poll.h"
#include "base/status.h"

namespace skipstone::speculation {

Corpus::Corpus(std::vector<Token> tokens) : tokens_(std::move(tokens)), sorted_(suffix_array(tokens_)) { tokens_.shrink_to_fit(); }

Corpus::Match Corpus::find(std::span<const Token> phrase) const {
  const auto head = [&](std::uint32_t start) { return std::span(tokens_).subspan(start, std::min(phrase.size(), tokens_.size() - start)); };
  const auto begin = std::ranges::partition_point(sorted_, [&](std::uint32_t start) {
    const auto text = head(start);
    return std::ranges::lexicographical_compare(text, phrase);
  });
  const auto end = std::partition_point(begin, sorted_.end(), [&](std::uint32_t start) { return std::ranges::equal(head(start), phrase); });
  return {static_cast<std::uint32_t>(phrase.size()), static_cast<std::uint32_t>(begin - sorted_.begin()),
          static_cast<std::uint32_t>(end - sorted_.begin())};
}

Corpus::Match Corpus::longest_match(std::span<const Token> text, std::uint32_t most) const {
  Match best;
  // Where the text's end of a length matches the shorter ones do too, so the length is found by bisection.
  std::uint32_t low = 0, high = static_cast<std::uint32_t>(std::min<std::size_t>(most, text.size()));
  while (low < high) {
    const std::uint32_t length = low + (high - low + 1) / 2;
    const Match match = find(text.last(length));
    if (match.count() > 0) {
      best = match;
      low = length;
    } else {
      high = length - 1;
    }
  }
  return best;
}

std::vector<std::uint32_t> Corpus::continuations(const Match& match, std::uint32_t most) const {
  const std::uint64_t count = match.count(), taken = std::min<std::uint64_t>(count, most);
  std::vector<std::uint32_t> places;
  places.reserve(taken);
  for (std::uint64_t i = 0; i < taken; ++i) {
    const std::uint32_t place = sorted_[match.begin + static_cast<std::uint32_t>((2 * i + 1) * count / (2 * taken))] + match.length;
    if (place < tokens_.size() && tokens_[place] >= 0) places.push_back(place);
  }
  return places;
}

namespace {

using Index = std::int32_t;
constexpr Index empty = -1;

class Sorter {
 public:
  /// `text` ends with its only 0; all values are below `alphabet`.
  Sorter(const std::vector<Index>& text, Index alphabet)
      : text_(text), size_(static_cast<Index>(text.size())), smaller_(text.size()), counts_(static_cast<std::size_t>(alphabet)) {
    smaller_.back() = true;
    for (Index i = size_ - 2; i >= 0; --i) {
      look_around(i);
      smaller_[at(i)] = text[at(i)] < text[at(i + 1)] || (text[at(i)] == text[at(i + 1)] && smaller_[at(i + 1)]);
    }
    for (const Index value : text) ++counts_[at(value)];
  }

  std::vector<Index> sort() {
    std::vector<Index> leftmost;  // the LMS places, in the order of the text
    for (Index i = 1; i < size_; ++i) {
      if (is_leftmost(i)) leftmost.push_back(i);
    }
    induce(leftmost);
    sort_leftmost(leftmost);
    induce(leftmost);
    return std::move(sorted_);
  }

 private:
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  /// Polls now and then whether this thread's work is to end, in loops over texts of gigabytes.
  static void look_around(Index i) {
    if (i % 32768 == 0) poll(Poll::period);
  }
  bool is_leftmost(Index i) const { return i > 0 && smaller_[at(i)] && !smaller_[at(i - 1)]; }

  std::vector<Index> bucket_starts() const {
    std::vector<Index> starts(counts_.size());
    Index sum = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      starts[i] = sum;
      sum += counts_[i];
    }
    return starts;
  }

  std::vector<Index> bucket_ends() const {
    std::vector<Index> ends = bucket_starts();
    for (std::size_t i = 0; i < ends.size(); ++i) ends[i] += counts_[i];
    return ends;
  }

  /// Sorts all suffixes, given the LMS ones in order. Where these are in no order, the substrings between them come out sorted.
  void induce(const std::vector<Index>& leftmost) {
    sorted_.assign(text_.size(), empty);
    std::vector<Index> ends = bucket_ends();
    for (std::size_t i = leftmost.size(); i-- > 0;) sorted_[at(--ends[at(text_[at(leftmost[i])])])] = leftmost[i];
    std::vector<Index> starts = bucket_starts();
    for (Index i = 0; i < size_; ++i) {
      look_around(i);
      const Index before = sorted_[at(i)] - 1;
      if (before >= 0 && !smaller_[at(before)]) sorted_[at(starts[at(text_[at(before)])]++)] = before;
    }
    ends = bucket_ends();
    for (Index i = size_ - 1; i >= 0; --i) {
      look_around(i);
      const Index before = sorted_[at(i)] - 1;
      if (before >= 0 && smaller_[at(before)]) sorted_[at(--ends[at(text_[at(before)])])] = before;
    }
  }

  bool same_substring(Index a, Index b) const {
    for (Index i = 0;; ++i) {
      const bool a_ends = i > 0 && is_leftmost(a + i), b_ends = i > 0 && is_leftmost(b + i);
      if (a_ends && b_ends) return true;
      if (a_ends != b_ends || text_[at(a + i)] != text_[at(b + i)]) return false;
    }
  }

  /// Puts the LMS places in the order of their suffixes, after a first induce().
  void sort_leftmost(std::vector<Index>& leftmost) {
    std::vector<Index> names(text_.size(), empty);
    Index name = 0, last = empty;
    for (const Index place : sorted_) {
      look_around(place);
      if (!is_leftmost(place)) continue;
      if (last != empty && !same_substring(last, place)) ++name;
      names[at(place)] = name;
      last = place;
    }
    std::vector<Index> reduced;
    reduced.reserve(leftmost.size());
    for (const Index place : leftmost) reduced.push_back(names[at(place)]);
    if (at(name) + 1 < reduced.size()) {
      const std::vector<Index> order = Sorter(reduced, name + 1).sort();
      std::vector<Index> places;
      places.reserve(order.size());
      for (const Index i : order) places.push_back(leftmost[at(i)]);
      leftmost = std::move(places);
    } else {
      std::ranges::sort(leftmost, {}, [&](Index place) { return names[at(place)]; });
    }
  }

  const std::vector<Index>& text_;
  Index size_;
  std::vector<bool> smaller_;  ///< whether a suffix is smaller than the next one
  std::vector<Index> counts_, sorted_;
};

}  // namespace

std::vector<std::uint32_t> suffix_array(std::span<const sample::Token> text) {
  if (text.size() > 0x7ffffffeu) fail(Code::unsupported, "a text of {} tokens is too long to be indexed", text.size());
  std::vector<Index> shifted;
  shifted.reserve(text.size() + 1);
  Index most = 0;
  for (const sample::Token token : text) {
    shifted.push_back(token + 2);
    most = std::max(most, shifted.back());
  }
  shifted.push_back(0);
  const std::vector<Index> sorted = Sorter(shifted, most + 1).sort();
  return {sorted.begin() + 1, sorted.end()};
}

}  // namespace skipstone::speculation
