#include "spec/drafters/chain.h"

#include <algorithm>

namespace skipstone::spec {

std::string Chain::name() const {
  std::string name;
  for (const auto& member : members_) {
    if (!name.empty()) name += '+';
    name += member->name();
  }
  return name;
}

void Chain::attach(const ModelFacts& model) {
  for (const auto& member : members_) member->attach(model);
}

bool Chain::wants_attention_cosine() const {
  return std::ranges::any_of(members_, [](const auto& member) { return member->wants_attention_cosine(); });
}

std::uint32_t Chain::wants_top() const {
  std::uint32_t most = 0;
  for (const auto& member : members_) most = std::max(most, member->wants_top());
  return most;
}

bool Chain::may_branch() const {
  return std::ranges::any_of(members_, [](const auto& member) { return member->may_branch(); });
}

bool Chain::has_known_costs() const {
  return std::ranges::all_of(members_, [](const auto& member) { return member->has_known_costs(); });
}

void Chain::begin(const Prefilled& prefilled, std::uint32_t model_layers) {
  for (const auto& member : members_) member->begin(prefilled, model_layers);
}

Proposal Chain::propose(std::span<const Token> history) {
  for (const auto& member : members_) {
    Proposal proposal = member->propose(history);
    if (proposal.tree.drafts() == 0 && proposal.block.empty() && !proposal.drafts_by_passes() && !proposal.early_exit) continue;
    proposer_ = member.get();
    return proposal;
  }
  proposer_ = nullptr;
  return {};
}

void Chain::observe(const RoundResult& result) {
  for (const auto& member : members_) {
    if (member.get() == proposer_) {
      member->observe(result);
    } else {
      member->watch(result);
    }
  }
}

void Chain::watch(const RoundResult& result) {
  for (const auto& member : members_) member->watch(result);
}

std::vector<exec::LayerPlan> Chain::trials(double generation_seconds) {
  for (const auto& member : members_) {
    std::vector<exec::LayerPlan> plans = member->trials(generation_seconds);
    if (plans.empty()) continue;
    trying_ = member.get();
    return plans;
  }
  return {};
}

void Chain::tried(std::span<const std::vector<Choice>> choices, std::span<const Token> expected, double seconds) {
  trying_->tried(choices, expected, seconds);
}

bool Chain::wants_refresh(std::uint64_t generated) const {
  return std::ranges::any_of(members_, [&](const auto& member) { return member->wants_refresh(generated); });
}

bool Chain::refresh(std::span<const float> attention_cosine, std::uint64_t generated) {
  bool changed = false;
  for (const auto& member : members_) changed |= member->refresh(attention_cosine, generated);
  return changed;
}

std::string Chain::proposer() const { return proposer_ == nullptr ? std::string() : proposer_->proposer(); }

std::string Chain::plan_text() const {
  for (const auto& member : members_) {
    if (std::string text = member->plan_text(); !text.empty()) return text;
  }
  return {};
}

std::uint32_t Chain::skipped_sublayers() const {
  for (const auto& member : members_) {
    if (const std::uint32_t skipped = member->skipped_sublayers(); skipped > 0) return skipped;
  }
  return 0;
}

std::vector<StrategyCounts> Chain::strategies() const {
  std::vector<StrategyCounts> all;
  for (const auto& member : members_) {
    const std::vector<StrategyCounts> some = member->strategies();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::string Chain::explanation() const {
  for (const auto& member : members_) {
    if (std::string text = member->explanation(); !text.empty()) return text;
  }
  return {};
}

}  // namespace skipstone::spec
