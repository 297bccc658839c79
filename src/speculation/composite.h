// Several drafters that propose in turns. The derived classes decide whose turn it is; all else is passed on here, so that none of
// them can forget a part of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "speculation/drafter.h"

namespace skipstone::speculation {

class Composite : public Drafter {
 public:
  explicit Composite(std::vector<std::unique_ptr<Drafter>> members) : members_(std::move(members)) {}

  void attach(const ModelFacts& model) override;
  /// The needs of all members together.
  DrafterTraits traits() const override;
  void begin(const Prefilled& prefilled, std::uint32_t model_layers) override;
  std::string proposer() const override { return proposer_ == nullptr ? std::string() : proposer_->proposer(); }
  /// The member that proposed observes, the others watch.
  void observe(const RoundResult& result) override;
  void watch(const RoundResult& result) override;
  /// Plan and explanation of the first member that has one, the strategies of all.
  DrafterReport report() const override;
  SkipSetTuner* skip_sets() override { return &tuners_; }

 protected:
  std::vector<std::unique_ptr<Drafter>>& members() { return members_; }
  const std::vector<std::unique_ptr<Drafter>>& members() const { return members_; }
  /// The member whose proposal this round has; null: none.
  void set_proposer(Drafter* member) { proposer_ = member; }

 private:
  /// The members' tuners as one.
  class Tuners final : public SkipSetTuner {
   public:
    explicit Tuners(const std::vector<std::unique_ptr<Drafter>>& members) : members_(members) {}
    /// Of the first member that has some.
    std::vector<exec::LayerPlan> trials(double generation_seconds) override;
    void tried(std::span<const std::vector<Choice>> choices, std::span<const Token> expected, double seconds) override;
    bool wants_refresh(std::uint64_t generated) const override;
    bool refresh(std::span<const float> attention_cosine, std::uint64_t generated) override;

   private:
    const std::vector<std::unique_ptr<Drafter>>& members_;
    SkipSetTuner* trying_ = nullptr;  ///< of the member that asked for the last trials
  };

  std::vector<std::unique_ptr<Drafter>> members_;
  Drafter* proposer_ = nullptr;
  Tuners tuners_{members_};
};

/// Each drafter decides what is good enough: it proposes nothing where it has nothing good. At least one drafter.
class Chain final : public Composite {
 public:
  using Composite::Composite;

  std::string name() const override;
  Proposal propose(std::span<const Token> history) override;
};

}  // namespace skipstone::speculation
