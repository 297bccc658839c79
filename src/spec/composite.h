// Several drafters that propose in turns. Whose turn it is is for the derived classes to say; all else is passed on here, so that none of
// them can forget a part of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "spec/drafter.h"

namespace skipstone::spec {

class Composite : public Drafter {
 public:
  explicit Composite(std::vector<std::unique_ptr<Drafter>> members) : members_(std::move(members)) {}

  void attach(const ModelFacts& model) override;
  /// What any of the members needs.
  DrafterTraits traits() const override;
  void begin(const Prefilled& prefilled, std::uint32_t model_layers) override;
  std::string proposer() const override { return proposer_ == nullptr ? std::string() : proposer_->proposer(); }
  /// The member that proposed observes, the others watch.
  void observe(const RoundResult& result) override;
  void watch(const RoundResult& result) override;
  /// Of the first member that has some.
  std::vector<exec::LayerPlan> trials(double generation_seconds) override;
  void tried(std::span<const std::vector<Choice>> choices, std::span<const Token> expected, double seconds) override;
  bool wants_refresh(std::uint64_t generated) const override;
  bool refresh(std::span<const float> attention_cosine, std::uint64_t generated) override;
  /// Plan and explanation of the first member that has one, the strategies of all.
  DrafterReport report() const override;

 protected:
  std::vector<std::unique_ptr<Drafter>>& members() { return members_; }
  const std::vector<std::unique_ptr<Drafter>>& members() const { return members_; }
  /// Whose proposal this round has; null: nobody's.
  void set_proposer(Drafter* member) { proposer_ = member; }

 private:
  std::vector<std::unique_ptr<Drafter>> members_;
  Drafter* proposer_ = nullptr;
  Drafter* trying_ = nullptr;  ///< who asked for the last trials
};

}  // namespace skipstone::spec
