// Several drafters in a row: the first that has something good proposes.
#pragma once

#include "spec/composite.h"

namespace skipstone::spec {

/// What is good enough is each drafter's own matter: it proposes nothing where it has nothing good. At least one drafter.
class Chain final : public Composite {
 public:
  using Composite::Composite;

  std::string name() const override;
  Proposal propose(std::span<const Token> history) override;
};

}  // namespace skipstone::spec
