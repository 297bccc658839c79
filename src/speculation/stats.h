// What is counted and timed of a generation, and why it ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exec/layer_plan.h"
#include "speculation/drafter.h"
#include "speculation/early_exit.h"

namespace skipstone::speculation {

/// stop_string is set by the emitter of the text; the loop knows tokens alone.
enum class StopReason { max_tokens, end_token, context_full, cancelled, stop_string };
const char* to_string(StopReason reason);  ///< as their names

struct DraftPosition {
  std::uint64_t drafted = 0, accepted = 0;
};

/// The rounds that one drafter of a chain proposed.
struct DrafterShare {
  std::string name;  ///< "" for rounds that none proposed
  std::uint64_t rounds = 0, drafted = 0, accepted = 0;
};

struct Stats {
  std::uint64_t prompt_tokens = 0, generated_tokens = 0;
  std::uint64_t cached_tokens = 0;  ///< of the prompt: Prefilled::found
  std::uint64_t rounds = 0, drafted = 0, accepted = 0;
  std::vector<DraftPosition> by_position;   ///< index 0 is the first draft of a round
  std::vector<DrafterShare> by_drafter;     ///< in the order of their first proposals
  std::string drafter, plan;                ///< plan: the skip set in LayerPlan notation
  std::string explanation;                  ///< DrafterReport::explanation
  std::vector<StrategyCounts> by_strategy;  ///< DrafterReport::strategies
  std::uint32_t skipped_sublayers = 0, sublayers = 0;
  std::vector<float> thresholds;                    ///< by round that drafted with a pass: PassProposal::least_probability
  EarlyExitCounts early_exits;                      ///< of lossy rounds
  std::uint64_t device_rounds = 0;                  ///< rounds that a RoundRunner ran at once; their time is round_seconds
  std::uint64_t refreshes = 0, refreshed_sets = 0;  ///< cosines measured anew; and how often other sublayers were skipped after that
  double prompt_seconds = 0, generation_seconds = 0, draft_seconds = 0, verify_seconds = 0, round_seconds = 0;
  /// That plain decoding would have taken instead of generation_seconds, from the rounds' own times (plain_time.h); 0: not known.
  double plain_seconds = 0;
  double refresh_seconds = 0;          ///< of draft_seconds: measuring the cosines anew
  double device_seconds = 0;           ///< of the generation: spent waiting for the device; the rest is the host's own work
  double remote_seconds = 0;           ///< of these, in which passes were at the devices of other layers
  double pipelined_seconds = 0;        ///< of these, in which drafts of the next round were made that it used
  std::uint64_t pipelined_drafts = 0;  ///< number of these drafts
  exec::ExpertUse experts{};           ///< of the generation: of plain passes and verifications

  /// Counts a round of `proposer`: `height` is how many drafts follow each other in it, of which the first `accepted` were right.
  void count_round(const std::string& proposer, std::uint64_t all_drafts, std::uint32_t height, std::uint32_t accepted_drafts);

  /// The sequence's times from the generation's begin to its end, and what the drafter says of itself then.
  void take(const SequenceTimes& begin, const SequenceTimes& end);
  void take(DrafterReport report);

  double host_seconds() const { return generation_seconds - draft_seconds - verify_seconds - round_seconds; }
  double acceptance() const { return drafted == 0 ? 0.0 : static_cast<double>(accepted) / static_cast<double>(drafted); }
  double tokens_per_round() const { return rounds == 0 ? 0.0 : static_cast<double>(generated_tokens) / static_cast<double>(rounds); }
};

}  // namespace skipstone::speculation
