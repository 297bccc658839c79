// The result of a tokenizer.json's merges on a text, and the last merge that made it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "convert/token_list.h"

namespace skipstone::convert {

struct MergePair {
  std::string left, right;
};

/// Byte pair encoding over characters, the first merge of the list first, as tokenizer.json means it. Immutable once made.
class MergeOrder {
 public:
  /// Both must outlive it; all tokens of `merges` are in `tokens`. Of equal pairs the first counts.
  MergeOrder(const std::vector<MergePair>& merges, const TokenList& tokens);

  /// How merging a text ends. Two symbols that are neighbours in any text, and cover exactly `text`, are the two of `cut`: the surrounding
  /// text had no influence on them.
  struct Way {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::size_t cut = 0;      ///< bytes of the left one when two symbols remained; 0: there never were two
    std::size_t rank = none;  ///< of the merge that joined these two; none: they were not joined
  };
  Way way(std::string_view text) const;

 private:
  const TokenList& tokens_;
  std::unordered_map<std::uint64_t, std::size_t> ranks_;  // by the two tokens
  const std::vector<MergePair>& merges_;
};

}  // namespace skipstone::convert
