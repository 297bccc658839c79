#include "spec/drafters/chain.h"

namespace skipstone::spec {

std::string Chain::name() const {
  std::string name;
  for (const auto& member : members()) {
    if (!name.empty()) name += '+';
    name += member->name();
  }
  return name;
}

Proposal Chain::propose(std::span<const Token> history) {
  set_proposer(nullptr);
  for (const auto& member : members()) {
    Proposal proposal = member->propose(history);
    if (!proposes_something(proposal)) continue;
    set_proposer(member.get());
    return proposal;
  }
  return NoDrafts{};
}

}  // namespace skipstone::spec
