#include "speculation/composite.h"

#include <algorithm>

namespace skipstone::speculation {

void Composite::attach(const ModelFacts& model) {
  for (const auto& member : members_) {
    model.look_around();
    member->attach(model);
  }
}

DrafterTraits Composite::traits() const {
  DrafterTraits all{.drafts = false};
  for (const auto& member : members_) {
    const DrafterTraits one = member->traits();
    all.drafts |= one.drafts;
    all.attention_cosine |= one.attention_cosine;
    all.top = std::max(all.top, one.top);
    all.branches |= one.branches;
    all.known_costs &= one.known_costs;
  }
  return all;
}

void Composite::begin(const Prefilled& prefilled, std::uint32_t model_layers) {
  proposer_ = nullptr;
  for (const auto& member : members_) member->begin(prefilled, model_layers);
}

void Composite::observe(const RoundResult& result) {
  for (const auto& member : members_) {
    if (member.get() == proposer_) {
      member->observe(result);
    } else {
      member->watch(result);
    }
  }
}

void Composite::watch(const RoundResult& result) {
  for (const auto& member : members_) member->watch(result);
}

std::vector<exec::LayerPlan> Composite::Tuners::trials(double generation_seconds) {
  for (const auto& member : members_) {
    SkipSetTuner* const tuner = member->skip_sets();
    if (tuner == nullptr) continue;
    std::vector<exec::LayerPlan> plans = tuner->trials(generation_seconds);
    if (plans.empty()) continue;
    trying_ = tuner;
    return plans;
  }
  return {};
}

void Composite::Tuners::tried(std::span<const std::vector<Choice>> choices, std::span<const Token> expected, double seconds) {
  trying_->tried(choices, expected, seconds);
}

bool Composite::Tuners::wants_refresh(std::uint64_t generated) const {
  return std::ranges::any_of(members_, [&](const auto& member) {
    const SkipSetTuner* const tuner = member->skip_sets();
    return tuner != nullptr && tuner->wants_refresh(generated);
  });
}

bool Composite::Tuners::refresh(std::span<const float> attention_cosine, std::uint64_t generated) {
  bool changed = false;
  for (const auto& member : members_) {
    SkipSetTuner* const tuner = member->skip_sets();
    if (tuner != nullptr) changed |= tuner->refresh(attention_cosine, generated);
  }
  return changed;
}

DrafterReport Composite::report() const {
  DrafterReport all;
  for (const auto& member : members_) {
    DrafterReport one = member->report();
    if (all.plan.empty()) all.plan = std::move(one.plan);
    if (all.skipped_sublayers == 0) all.skipped_sublayers = one.skipped_sublayers;
    if (all.explanation.empty()) all.explanation = std::move(one.explanation);
    all.strategies.insert(all.strategies.end(), one.strategies.begin(), one.strategies.end());
  }
  return all;
}

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

}  // namespace skipstone::speculation
