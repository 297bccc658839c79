// Indexes of the text so far for drafters that look tokens up in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sample/sampler.h"

namespace skipstone::speculation {

using sample::Token;

/// The places of each token of a text: a chain from every place to the one before it with the same token, as LZ77 coders have it.
class Occurrences {
 public:
  static constexpr std::uint32_t none = ~0u;

  void append(Token token) {
    const auto [place, fresh] = last_.try_emplace(token, none);
    before_.push_back(place->second);
    place->second = static_cast<std::uint32_t>(text_.size());
    text_.push_back(token);
  }

  std::span<const Token> text() const { return text_; }
  /// The last place of `token`, or none.
  std::uint32_t last(Token token) const {
    const auto found = last_.find(token);
    return found == last_.end() ? none : found->second;
  }
  /// The place before `place` with the same token, or none.
  std::uint32_t before(std::uint32_t place) const { return before_[place]; }

 private:
  std::vector<Token> text_;
  std::vector<std::uint32_t> before_;
  std::unordered_map<Token, std::uint32_t> last_;
};

/// Length of the spans' common suffix, at most `most`.
inline std::uint32_t common_end(std::span<const Token> a, std::span<const Token> b, std::uint32_t most) {
  std::uint32_t length = 0;
  while (length < most && length < a.size() && length < b.size() && a[a.size() - 1 - length] == b[b.size() - 1 - length]) ++length;
  return length;
}

/// Brings `Index` (append(token), text()) up to `history`. A text only grows while it is being generated; a new prompt may be another
/// text, and the index starts anew then.
template <typename Index>
class TextIndex {
 public:
  void begin() { compare_ = true; }

  const Index& follow(std::span<const sample::Token> history) {
    const auto known = index_.text();
    const bool grown = known.size() <= history.size() && (!compare_ || std::ranges::equal(known, history.first(known.size())));
    if (!grown) index_ = Index();
    compare_ = false;
    for (const sample::Token token : history.subspan(index_.text().size())) index_.append(token);
    return index_;
  }

 private:
  Index index_;
  bool compare_ = false;
};

}  // namespace skipstone::speculation
