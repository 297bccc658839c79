#include "speculation/synthetic_acceptance.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/philox.h"
#include "base/status.h"
#include "speculation/drafter.h"

namespace skipstone::speculation {
namespace {

constexpr std::array<std::uint32_t, 2> key = {0x73796e74u, 0x68657469u};  // any will do, the same each time

}  // namespace

void check_synthetic_acceptance(std::span<const double> probabilities) {
  if (probabilities.empty() || probabilities.size() > most_drafts) {
    fail(Code::invalid_argument, "synthetic acceptance takes 1 to {} probabilities, one for each draft of a round; there are {}",
         most_drafts, probabilities.size());
  }
  for (const double p : probabilities) {
    if (!(p >= 0 && p <= 1)) fail(Code::invalid_argument, "synthetic acceptance {} is no probability; 0 to 1", p);
  }
}

SyntheticAcceptance::SyntheticAcceptance(Sequence& sequence, std::vector<double> probabilities, std::uint32_t vocabulary)
    : sequence_(sequence), row_by_row_(sequence), probabilities_(std::move(probabilities)), vocabulary_(vocabulary) {
  check_synthetic_acceptance(probabilities_);
  if (vocabulary_ <= most_drafts) fail(Code::unsupported, "synthetic acceptance needs more than {} tokens in the vocabulary", most_drafts);
}

bool SyntheticAcceptance::accepts(Token pending, std::uint32_t depth) const {
  const double p = probabilities_[std::min<std::size_t>(depth, probabilities_.size() - 1)];
  return open_unit(philox({committed(), depth, static_cast<std::uint32_t>(pending), 0}, key)[0]) < p;
}

void SyntheticAcceptance::reject(const TokenTree& rows, std::uint32_t row, std::span<Choice> verified) const {
  Token& token = verified[row].token;
  if (token < 0) return;  // no number: the loop's matter
  while (rows.child(row, token)) token = static_cast<Token>((static_cast<std::uint32_t>(token) + 1) % vocabulary_);
}

void SyntheticAcceptance::decide(const TokenTree& rows, std::span<Choice> verified) const {
  std::uint32_t row = 0;
  for (std::uint32_t next = 1; next < rows.rows(); ++next) {  // children come after their parents
    if (rows.parents()[next] != row) continue;
    if (!accepts(rows.tokens()[0], rows.depths()[row])) break;
    if (verified[row].token >= 0) verified[row].token = rows.tokens()[next];
    row = next;
  }
  reject(rows, row, verified);
}

void SyntheticAcceptance::verify(const TokenTree& rows, std::uint32_t top, Verified& out) {
  sequence_.verify(rows, top, out);
  decide(rows, out.choices);
}

SequenceExtensions SyntheticAcceptance::extensions() {
  SequenceExtensions all = sequence_.extensions();
  if (all.rounds != nullptr) all.rounds = this;
  all.blocks = this;
  return all;
}

void SyntheticAcceptance::commit_row(std::span<const std::vector<Token>> rows, std::uint32_t row, std::uint32_t tokens) {
  blocks().commit_row(rows, row, tokens);
}

void SyntheticAcceptance::verify_block(std::span<const std::vector<Token>> rows, std::span<std::vector<Choice>> out) {
  blocks().verify_block(rows, out);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TokenTree chain = TokenTree::chain(rows[i][0], std::span(rows[i]).subspan(1));
    if (i == 0) {
      decide(chain, out[i]);
    } else {
      reject(chain, 0, out[i]);
    }
  }
}

bool SyntheticAcceptance::round(const RoundRequest& request, DraftedRound& out) {
  if (!sequence_.extensions().rounds->round(request, out)) return false;
  std::vector<Token> drafts;
  for (const Choice& draft : out.drafts) drafts.push_back(draft.token);
  decide(TokenTree::chain(request.pending, drafts), out.verified);
  return true;
}

}  // namespace skipstone::speculation
