// Finds tokens that are written out in a text: leftmost first, the longest of those that start at the same place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/poll.h"
#include "text/tokenizer.h"

namespace skipstone::text {

/// A trie over the written forms. Immutable once filled.
class SpecialTokens {
 public:
  SpecialTokens() { roots_.fill(0); }

  /// Adds a token; empty ones are ignored, and of two written alike the first counts.
  void add(std::string_view written, Token token);

  struct Match {
    std::size_t begin = std::string_view::npos;  ///< npos: none
    std::size_t size = 0;
    Token token = -1;
  };

  /// The first match in `text` at or after `from`.
  Match find(std::string_view text, std::size_t from) const {
    return find(text, from, [](const Match&) { return true; });
  }

  /// The same among the matches that `accept(match)` is true for.
  template <typename Accept>
  Match find(std::string_view text, std::size_t from, Accept&& accept) const {
    Poll* const asking = Poll::current();
    for (std::size_t begin = from; begin < text.size(); ++begin) {
      Match best;
      std::uint32_t node = roots_[static_cast<unsigned char>(text[begin])];
      if (asking != nullptr && (node != 0 || begin % 4096 == 0)) asking->work(node != 0 ? 1 : 64);
      for (std::size_t size = 1; node != 0; ++size) {
        if (ends_[node] >= 0) {
          const Match match{begin, size, ends_[node]};
          if (accept(match)) best = match;
        }
        if (begin + size == text.size()) break;
        if (asking != nullptr) asking->work(1);
        node = child(node, static_cast<unsigned char>(text[begin + size]));
      }
      if (best.token >= 0) return best;
    }
    return {};
  }

 private:
  std::uint32_t child(std::uint32_t node, unsigned char byte) const;

  std::array<std::uint32_t, 256> roots_;                    // the first byte decides almost everywhere
  std::unordered_map<std::uint64_t, std::uint32_t> edges_;  // node * 256 + byte
  std::vector<Token> ends_{-1};                             // by node; node 0 is none
};

}  // namespace skipstone::text
