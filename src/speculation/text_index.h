// Common to the drafters that look tokens up: an index of the text so far, kept up with it.
#pragma once

#include <algorithm>
#include <span>

#include "sample/sampler.h"

namespace skipstone::speculation {

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
