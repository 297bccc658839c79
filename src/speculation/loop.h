// propose -> draft -> verify -> accept -> emit -> observe, until a limit or a stop token. Does not know which drafter it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "speculation/drafter.h"
#include "speculation/round_costs.h"
#include "speculation/sequence.h"
#include "speculation/token_history.h"

namespace skipstone::speculation {

/// stop_string is set by the emitter of the text; the loop knows tokens alone.
enum class StopReason { max_tokens, end_token, context_full, cancelled, stop_string };
const char* to_string(StopReason reason);  ///< as their names

struct Limits {
  std::uint32_t max_tokens = 0;                ///< of the continuation
  std::function<bool(Token)> ends_generation;  ///< such a token ends the text and is not emitted
  /// Called before passes whose results can be dropped: true ends the generation (`cancelled`).
  std::function<bool()> interrupted = {};
  const RoundCosts* costs = nullptr;  ///< of passes, for Stats::plain_seconds; null: not measured
};

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
  double host_seconds() const { return generation_seconds - draft_seconds - verify_seconds - round_seconds; }
  double acceptance() const { return drafted == 0 ? 0.0 : static_cast<double>(accepted) / static_cast<double>(drafted); }
  double tokens_per_round() const { return rounds == 0 ? 0.0 : static_cast<double>(generated_tokens) / static_cast<double>(rounds); }
};

struct Outcome {
  std::vector<Token> tokens;  ///< exactly those emitted
  StopReason stop = StopReason::max_tokens;
  Stats stats;
};

/// A token of the continuation, whether it was a draft that the model accepted, and how far its logit was from the runner-up's.
struct Emitted {
  Token token = -1;
  bool drafted = false;
  float margin = 0;
  std::string_view drafter = {};               ///< of a draft; as long as the call
  const sample::Logprobs* logprobs = nullptr;  ///< where the sequence has them; as long as the call
};

/// Called for every token in order; false stops (`cancelled`): the token it was called with counts as emitted.
using Emit = std::function<bool(const Emitted&)>;

/// Continues `text` (the first sequence.committed() of its tokens are in the KV cache, at least one is not) and appends the emitted tokens.
/// Tokens end exactly where plain decoding would end them, whatever the drafter does. The context counts every token: with a context of C
/// at most C tokens are in prompt and continuation together.
///
/// Afterwards, whatever the drafter did: where a token was emitted, all tokens but the last one emitted are committed, so generate() with
/// the text (and more tokens, if any) continues as if it had never stopped. Where none was, because the model's first token ended the text,
/// all of it is committed and the next call has to bring a token. max_tokens = 0, or a text as long as the context, runs no
/// pass. Cancelling, and an exception of a pass or of `emit` (which passes through, without statistics), leave no more
/// committed than that, and nothing wrong: the same call continues. Throws invalid_argument where the prompt does not fit the context or
/// brings no token that is not committed, internal where the model's output is not a number (token -1).
Outcome generate(Sequence& sequence, Drafter& drafter, TokenHistory& text, const Limits& limits, const Emit& emit);
/// The same for a text that the caller keeps itself.
inline Outcome generate(Sequence& sequence, Drafter& drafter, std::span<const Token> history, const Limits& limits, const Emit& emit) {
  TokenHistory text(history);
  return generate(sequence, drafter, text, limits, emit);
}

}  // namespace skipstone::speculation
