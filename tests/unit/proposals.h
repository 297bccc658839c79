// What a drafter has proposed, for tests that know its kind; another kind throws.
#pragma once

#include "speculation/drafter.h"

namespace skipstone::speculation::test {

inline PassProposal passes_of(const Proposal& proposal) { return std::get<PassProposal>(proposal); }
/// Another source throws as well.
template <typename Source>
Source source_of(const PassProposal& proposal) {
  return dynamic_cast<const Source&>(*proposal.source);
}
inline LayerPass layers_of(const Proposal& proposal) { return source_of<LayerPass>(passes_of(proposal)); }
/// No drafts where there is nothing to try.
inline TokenTree tree_of(const Proposal& proposal) {
  return proposes_something(proposal) ? std::get<TreeProposal>(proposal).tree : TokenTree();
}

}  // namespace skipstone::speculation::test
