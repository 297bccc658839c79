#include "speculation/drafter.h"

namespace skipstone::speculation {

bool proposes_something(const Proposal& proposal) {
  struct Visitor {
    bool operator()(const NoDrafts&) const { return false; }
    bool operator()(const TreeProposal& drafts) const { return drafts.tree.drafts() > 0; }
    bool operator()(const BlockProposal& block) const { return !block.rows.empty(); }
    bool operator()(const PassProposal& drafts) const { return drafts.length > 0; }
    bool operator()(const EarlyExitRequest&) const { return true; }
  };
  return std::visit(Visitor{}, proposal);
}

}  // namespace skipstone::speculation
