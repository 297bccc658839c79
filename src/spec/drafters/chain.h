// Several drafters in a row: the first that has something good proposes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "spec/drafter.h"

namespace skipstone::spec {

/// What is good enough is each drafter's own matter: it proposes nothing where it has nothing good. At least one drafter.
class Chain final : public Drafter {
 public:
  explicit Chain(std::vector<std::unique_ptr<Drafter>> members) : members_(std::move(members)) {}

  std::string name() const override;
  void attach(const ModelFacts& model) override;
  bool wants_attention_cosine() const override;
  std::uint32_t wants_top() const override;
  bool may_branch() const override;
  bool has_known_costs() const override;
  void begin(const Prefilled& prefilled, std::uint32_t model_layers) override;
  Proposal propose(std::span<const Token> history) override;
  void observe(const RoundResult& result) override;
  void watch(const RoundResult& result) override;
  std::vector<exec::LayerPlan> trials(double generation_seconds) override;
  void tried(std::span<const std::vector<Choice>> choices, std::span<const Token> expected, double seconds) override;
  bool wants_refresh(std::uint64_t generated) const override;
  bool refresh(std::span<const float> attention_cosine, std::uint64_t generated) override;
  std::string proposer() const override;
  std::string plan_text() const override;
  std::uint32_t skipped_sublayers() const override;
  std::string explanation() const override;
  std::vector<StrategyCounts> strategies() const override;

 private:
  std::vector<std::unique_ptr<Drafter>> members_;
  Drafter* proposer_ = nullptr;  ///< of this round; null: nobody
  Drafter* trying_ = nullptr;    ///< who asked for the last trials
};

}  // namespace skipstone::spec
