// Random texts and the plainest possible searches in them, for tests of the indexes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "sample/sampler.h"
#include "speculation/text_index.h"

namespace skipstone::speculation::test {

using sample::Token;

/// Of few different tokens, with parts of itself copied, so that it has long matches and loops.
inline std::vector<Token> repetitive_text(std::mt19937_64& random, std::size_t length) {
  const std::uint64_t tokens = random() % 6 + 1;
  std::vector<Token> text;
  while (text.size() < length) {
    if (text.empty() || random() % 4 != 0) {
      text.push_back(static_cast<Token>(random() % tokens));
    } else {
      std::size_t from = random() % text.size();
      for (std::uint64_t i = random() % 12; i > 0; --i) text.push_back(text[from++]);
    }
  }
  text.resize(length);
  return text;
}

/// Where `phrase` ends in `text`: the places behind its occurrences, ascending.
inline std::vector<std::uint32_t> ends_of(std::span<const Token> phrase, std::span<const Token> text) {
  std::vector<std::uint32_t> ends;
  for (std::size_t start = 0; start + phrase.size() <= text.size(); ++start) {
    if (std::ranges::equal(text.subspan(start, phrase.size()), phrase)) ends.push_back(static_cast<std::uint32_t>(start + phrase.size()));
  }
  return ends;
}

inline Occurrences index_of(std::span<const Token> text) {
  Occurrences index;
  for (const Token token : text) index.append(token);
  return index;
}

inline std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> values) {
  std::ranges::sort(values);
  return values;
}

}  // namespace skipstone::speculation::test
