#include "spec/drafters/none.h"

namespace skipstone::spec {
namespace {

class None final : public Drafter {
 public:
  std::string name() const override { return "none"; }
  void begin(const Prefilled&, std::uint32_t) override {}
  Proposal propose(std::span<const Token>) override { return {}; }
  void observe(const RoundResult&) override {}
};

}  // namespace

std::unique_ptr<Drafter> make_none(Options&) { return std::make_unique<None>(); }

}  // namespace skipstone::spec
