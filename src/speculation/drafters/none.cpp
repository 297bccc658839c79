// Plain decoding.
#include <memory>

#include "speculation/drafter.h"
#include "speculation/drafters/drafters.h"
#include "speculation/options.h"

namespace skipstone::speculation {
namespace {

class None final : public Drafter {
 public:
  std::string name() const override { return "none"; }
  DrafterTraits traits() const override { return {.drafts = false}; }
  Proposal propose(std::span<const Token>) override { return NoDrafts{}; }
};

}  // namespace

std::unique_ptr<Drafter> make_none(Options&) { return std::make_unique<None>(); }

}  // namespace skipstone::speculation
