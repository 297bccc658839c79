#include "speculation/corpus.h"

#include <algorithm>

#include "speculation/suffix_array.h"

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

}  // namespace skipstone::speculation
