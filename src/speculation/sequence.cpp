#include "speculation/sequence.h"

#include <numeric>

namespace skipstone::speculation {

void RowByRowVerifier::verify_block(std::span<const std::vector<Token>> rows, std::span<std::vector<Choice>> out) {
  Verified verified;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sequence_.verify(TokenTree::chain(rows[i][0], std::span(rows[i]).subspan(1)), 0, verified);
    out[i] = verified.choices;
  }
}

void RowByRowVerifier::commit_row(std::span<const std::vector<Token>> rows, std::uint32_t row, std::uint32_t tokens) {
  const TokenTree chain = TokenTree::chain(rows[row][0], std::span(rows[row]).subspan(1, tokens - 1));
  Verified again;
  if (row + 1 < rows.size()) sequence_.verify(chain, 0, again);  // the rows after it have taken its place in the cache
  std::vector<std::uint32_t> path(tokens);
  std::iota(path.begin(), path.end(), 0u);
  sequence_.commit(path);
}

}  // namespace skipstone::speculation
