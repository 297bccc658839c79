// Defaults for sequences that have no faster way.
#include "speculation/sequence.h"

#include <numeric>

#include "base/status.h"

namespace skipstone::speculation {

EarlyExit Sequence::exit_early(const EarlyExitRequest&, Token) { fail(Code::unsupported, "this sequence runs whole passes alone"); }

void Sequence::verify_block(std::span<const std::vector<Token>> rows, std::span<std::vector<Choice>> out) {
  Verified verified;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    verify(TokenTree::chain(rows[i][0], std::span(rows[i]).subspan(1)), 0, verified);
    out[i] = verified.choices;
  }
}

void Sequence::commit_row(std::span<const std::vector<Token>> rows, std::uint32_t row, std::uint32_t tokens) {
  const TokenTree chain = TokenTree::chain(rows[row][0], std::span(rows[row]).subspan(1, tokens - 1));
  Verified again;
  if (row + 1 < rows.size()) verify(chain, 0, again);  // the rows after it have taken its place in the cache
  std::vector<std::uint32_t> path(tokens);
  std::iota(path.begin(), path.end(), 0u);
  commit(path);
}

}  // namespace skipstone::speculation
