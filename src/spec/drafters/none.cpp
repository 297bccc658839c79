#include "spec/drafters/none.h"

namespace skipstone::spec {
namespace {

class None final : public Drafter {
 public:
  std::string name() const override { return "none"; }
  DrafterTraits traits() const override { return {.drafts = false}; }
  Proposal propose(std::span<const Token>) override { return NoDrafts{}; }
};

}  // namespace

std::unique_ptr<Drafter> make_none(Options&) { return std::make_unique<None>(); }

}  // namespace skipstone::spec
