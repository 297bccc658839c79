#include "speculation/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/status.h"

namespace skipstone::speculation {
namespace {

/// Drafts have to promise this much more than none: estimates are never exact, and a tie is not worth a risk.
constexpr double least_gain = 1.02;
/// Rounds with drafts after which one without measures plain decoding again, where the gain is small enough for it to matter.
constexpr std::uint64_t plain_check = 48;
constexpr double doubtful_gain = 1.15;
/// Weight of a round in the averages of measured over predicted time, and the bound on one round's ratio.
constexpr double time_weight = 0.08, most_slowness = 1.5;
/// Rounds shorter than this are over before the clock says anything about them.
constexpr double least_seconds = 1e-4;
/// Acceptance assumed of passes that were not tried yet: more than is likely, since only a trial shows it. Tokens are scored without one.
constexpr double untried_acceptance = 0.8;
/// A plan arm that is not used forgets this share of a round's worth each round.
constexpr double idle_fade = 0.1;

/// Where no costs were measured: a layer's MLP twice its attention, the output as three layers, and 6 % more for every row. Experts, of
/// which a row has `experts_used`, cost as much for every one that is read.
RoundCosts guessed_costs(std::uint32_t experts_used) {
  RoundCosts costs;
  for (const std::uint32_t rows : {1u, 2u, 4u, 8u, 16u, 32u}) {
    const double factor = 1.0 + 0.06 * (rows - 1);
    PassCost pass{.attention = factor, .mlp = 2 * factor, .rest = 9 * factor};
    if (experts_used > 0) pass.expert = 2.0 / experts_used, pass.experts = experts_used;
    costs.add(rows, pass);
  }
  return costs;
}

/// Weight of a round in the average of concurrent rows, and the average below which it counts as none.
constexpr double concurrent_weight = 0.5, least_company = 0.05;

/// Weight of a round of several rows in the overlap of experts; and what a round without any moves it towards the untried one.
constexpr double overlap_weight = 0.25, overlap_fade = 0.005;

void average(double& value, double sample) { value += time_weight * (std::clamp(sample, 1 / most_slowness, most_slowness) - value); }

}  // namespace

Controller::Controller(std::string name, std::vector<std::unique_ptr<Drafter>> members, bool lenient)
    : Composite(std::move(members)), name_(std::move(name)), lenient_(lenient) {}

void Controller::attach(const ModelFacts& model) {
  layers_ = model.layers;
  full_ = exec::LayerPlan::full(layers_);
  if (model.costs) costs_ = model.costs();
  if (costs_.most_rows() < 2) costs_ = guessed_costs(model.experts_used);
  std::erase_if(members(), [&](const auto& member) {
    model.look_around();
    try {
      member->attach(model);
      return false;
    } catch (const Error& error) {
      if (!lenient_ || error.code() != Code::invalid_argument) throw;
      return true;
    }
  });
  arms_.clear();
  for (const auto& member : members()) {
    Arm& arm = arms_.emplace_back();
    arm.drafter = member.get();
    arm.acceptance[0] = Acceptance(untried_acceptance);
  }
}

void Controller::begin(const Prefilled& prefilled, std::uint32_t model_layers) {
  gain_ = {};
  for (Arm& arm : arms_) arm.shadow.reset();
  Composite::begin(prefilled, model_layers);
}

double Controller::pass_microseconds(double rows) const {
  const auto of = [&](double all) { return costs_.at(static_cast<std::uint32_t>(all)).of(full_); };
  const double most = costs_.most_rows(), all = rows + concurrent_, whole = std::floor(all / most), rest = all - whole * most;
  double microseconds = whole * of(most);
  if (rest > 0) {  // interpolates between whole numbers of rows
    const double below = std::max(1.0, std::floor(rest)), above = std::min(most, std::ceil(rest));
    microseconds += of(below) + (std::max(rest, 1.0) - below) * (of(above) - of(below));
  }
  return microseconds;
}

Controller::ExpectedGain Controller::expected_gain(Arm& arm, TreeProposal proposal) const {
  const Acceptance& acceptance = arm.acceptance[std::min(proposal.strength, strengths - 1)];
  ExpectedGain best{&arm, NoDrafts{}, 0, 0};
  std::uint32_t drafts_used = 0;
  // Full buckets of rows, since a pass costs what its bucket does; and the full proposal.
  for (const auto& [bucket, cost] : costs_.buckets()) {
    if (bucket < 2) continue;
    const std::uint32_t drafts = std::min(bucket - 1, proposal.tree.drafts());
    const double microseconds = pass_microseconds(drafts + 1) * arm.slowness;
    const std::uint32_t height = *std::max_element(proposal.tree.depths().begin(), proposal.tree.depths().begin() + drafts + 1);
    const double rate = (acceptance.expected(height).tokens + tokens_of_others()) / microseconds;
    if (rate > best.rate) {
      best.rate = rate;
      best.microseconds = microseconds / arm.slowness;
      drafts_used = drafts;
    }
    if (drafts == proposal.tree.drafts()) break;
  }
  proposal.tree = proposal.tree.pruned(drafts_used + 1, ~0u, {});
  best.proposal = std::move(proposal);
  return best;
}

Controller::ExpectedGain Controller::expected_gain(Arm& arm, PassProposal proposal) const {
  if (proposal.length == 0) return {};
  const std::optional<SetCosts> known = proposal.source->costs(costs_, layers_);
  if (!known) return {};
  const SetCosts& costs = *known;
  const Acceptance& acceptance = arm.acceptance[0];
  ExpectedGain best{&arm, NoDrafts{}, 0, 0};
  std::uint32_t length = 0;
  for (std::uint32_t n = 1; n <= proposal.length && n + 1 < costs.verify.size(); ++n) {
    const Acceptance::Expected expected = acceptance.expected(n);
    // Rounds that stop early verify fewer rows: between the two buckets' costs, by how many drafts there will be on average.
    const double rows = 1 + expected.drafts, below = std::floor(rows);
    const auto at = static_cast<std::size_t>(below);
    const double verify = costs.verify[at] + (rows - below) * (costs.verify[std::min(at + 1, costs.verify.size() - 1)] - costs.verify[at]);
    const double microseconds = expected.drafts * costs.draft + (concurrent_ > 0 ? pass_microseconds(rows) : verify);
    const double rate = (expected.tokens + tokens_of_others()) / (microseconds * arm.slowness);
    if (rate > best.rate) {
      best.rate = rate;
      best.microseconds = microseconds;
      length = n;
    }
  }
  proposal.length = length;
  best.proposal = std::move(proposal);
  return best;
}

/// What a pass costs depends on the experts that its rows share; a text shows it where several of its rows are verified.
void Controller::learn_overlap(const exec::ExpertUse& seen) {
  const double used = costs_.experts_used();
  if (used == 0 || seen.layers == 0) return;
  const double layers = static_cast<double>(seen.layers), rows = static_cast<double>(seen.choices) / (used * layers);
  double overlap = costs_.overlap();
  if (rows >= 1.5) {
    overlap += overlap_weight * (overlap_of_experts(used, static_cast<double>(seen.distinct) / layers, rows) - overlap);
  } else if (overlap < RoundCosts::untried_overlap) {
    overlap += overlap_fade * (RoundCosts::untried_overlap - overlap);
  }
  costs_.set_overlap(overlap);
}

/// Scores what a free drafter would have had accepted, once the text has shown it.
void Controller::follow_shadow(Arm& arm, std::span<const Token> history) const {
  if (!arm.shadow) return;
  Shadow& shadow = *arm.shadow;
  std::uint32_t depth = shadow.tree.depths()[shadow.row];
  while (shadow.base + depth < history.size()) {
    const auto next = shadow.tree.child(shadow.row, history[shadow.base + depth]);
    if (!next) {
      arm.acceptance[shadow.strength].add(shadow.tree.height(), depth, shadow.tree.height());
      arm.shadow.reset();
      return;
    }
    shadow.row = *next;
    ++depth;
  }
}

Proposal Controller::propose(std::span<const Token> history) {
  gain_ = {};
  const double plain = (1.0 + tokens_of_others()) / plain_microseconds();
  double best_rate = plain * least_gain;
  for (Arm& arm : arms_) {
    follow_shadow(arm, history);
    Proposal proposal = arm.drafter->propose(history);
    ExpectedGain gain;
    if (auto* drafts = std::get_if<TreeProposal>(&proposal); drafts != nullptr && drafts->tree.drafts() > 0) {
      if (!arm.shadow) arm.shadow = Shadow{drafts->tree, history.size(), 0, std::min(drafts->strength, strengths - 1)};
      gain = expected_gain(arm, std::move(*drafts));
    } else if (auto* passes = std::get_if<PassProposal>(&proposal)) {
      gain = expected_gain(arm, std::move(*passes));
    }
    arm.expected_rate = gain.rate / plain;
    if (gain.rate <= best_rate) continue;
    best_rate = gain.rate;
    gain_ = std::move(gain);
  }
  ++rounds_;
  const bool doubtful = best_rate < doubtful_gain * plain;
  if (gain_.arm != nullptr && doubtful && ++since_plain_ > plain_check) gain_ = {};
  if (gain_.arm == nullptr) since_plain_ = 0;
  set_proposer(gain_.arm == nullptr ? nullptr : gain_.arm->drafter);
  return gain_.proposal;
}

void Controller::observe(const RoundResult& result) {
  const double predicted = gain_.arm == nullptr ? costs_.at(1).of(full_) : gain_.microseconds;
  concurrent_ += concurrent_weight * (result.concurrent_rows - concurrent_);
  if (concurrent_ < least_company) concurrent_ = 0;
  // With concurrent sequences a round's time includes theirs: it says nothing of the prediction.
  if (result.seconds > least_seconds && concurrent_ == 0) {
    const double ratio = result.seconds / predicted;
    if (scale_ == 0) scale_ = ratio;
    average(gain_.arm == nullptr ? plain_slowness_ : gain_.arm->slowness, ratio / scale_);
    scale_ += time_weight * (std::clamp(ratio, scale_ / most_slowness, scale_ * most_slowness) - scale_);
  }
  learn_overlap(result.experts);
  for (Arm& arm : arms_) {
    if (&arm != gain_.arm) {
      if (!arm.shadow) arm.acceptance[0].fade(idle_fade);
      continue;
    }
    ++arm.rounds;
    arm.tokens += result.accepted + 1;
    if (std::holds_alternative<PassProposal>(gain_.proposal)) arm.acceptance[0].add(result.drafted, result.accepted, result.limit);
  }
  if (gain_.arm == nullptr) ++plain_rounds_;
  Composite::observe(result);
}

/// Null where none was used.
const Controller::Arm* Controller::most_used() const {
  const auto arm = std::ranges::max_element(arms_, {}, &Arm::rounds);
  return arm == arms_.end() || arm->rounds == 0 ? nullptr : &*arm;
}

DrafterReport Controller::report() const {
  DrafterReport all = Composite::report();
  const DrafterReport used = most_used() == nullptr ? DrafterReport{} : most_used()->drafter->report();
  all.plan = used.plan;
  all.skipped_sublayers = used.skipped_sublayers;
  all.explanation = explanation();
  return all;
}

std::string Controller::explanation() const {
  std::string text;
  for (const Arm& arm : arms_) {
    if (!text.empty()) text += "; ";
    text += arm.drafter->name();
    const std::string plan = arm.drafter->report().plan;
    if (!plan.empty()) text += fmt::format(" ({})", plan);
    if (arm.rounds == 0) {
      text += ": not used";
    } else {
      text += fmt::format(": {} rounds of {:.2f} tokens", arm.rounds, static_cast<double>(arm.tokens) / static_cast<double>(arm.rounds));
    }
    if (arm.expected_rate > 0) text += fmt::format(", promises {:.2f} times plain decoding", arm.expected_rate);
  }
  if (!text.empty()) text += "; ";
  text += fmt::format("off: {} of {} rounds", plain_rounds_, rounds_);
  if (costs_.experts_used() > 0) text += fmt::format("; rows share {:.0f} % of their experts", 100 * costs_.overlap());
  return text;
}

}  // namespace skipstone::speculation
