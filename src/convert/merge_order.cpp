#include "convert/merge_order.h"

#include "text/pair_merge.h"
#include "text/utf8.h"

namespace skipstone::convert {
namespace {

using text::Symbol;
using text::Token;

std::uint64_t key_of(std::uint32_t left, std::uint32_t right) { return (std::uint64_t{left} << 32) | right; }

}  // namespace

MergeOrder::MergeOrder(const std::vector<MergePair>& merges, const TokenList& tokens) : tokens_(tokens), merges_(merges) {
  ranks_.reserve(merges.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const Token left = tokens.find(merges[rank].left), right = tokens.find(merges[rank].right);
    ranks_.emplace(key_of(static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right)), rank);
  }
}

MergeOrder::Way MergeOrder::way(std::string_view text) const {
  std::vector<Symbol> symbols;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = text::utf8_front(text.substr(at)).size;
    // A character that is no token becomes -1, which no merge has.
    symbols.push_back({at, size, static_cast<std::uint32_t>(tokens_.find(std::string(text.substr(at, size)))), -1, -1});
    at += size;
  }
  Way way;
  text::merge_pairs(symbols, [&](const Symbol& left, const Symbol& right, text::Merge& merge) {
    const auto found = ranks_.find(key_of(left.id, right.id));
    if (left.size + right.size == text.size()) {
      way.cut = left.size;
      way.rank = found == ranks_.end() ? Way::none : found->second;
    }
    if (found == ranks_.end()) return false;
    const MergePair& pair = merges_[found->second];
    merge.id = static_cast<std::uint32_t>(tokens_.find(pair.left + pair.right));
    merge.cost = static_cast<double>(found->second);
    return true;
  });
  return way;
}

}  // namespace skipstone::convert
