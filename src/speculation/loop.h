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
#include "speculation/stats.h"
#include "speculation/token_history.h"

namespace skipstone::speculation {

struct Limits {
  std::uint32_t max_tokens = 0;                ///< of the continuation
  std::function<bool(Token)> ends_generation;  ///< such a token ends the text and is not emitted
  /// Called before passes whose results can be dropped: true ends the generation (`cancelled`).
  std::function<bool()> interrupted = {};
  /// The part of a tree of drafts after the text that may be accepted at all; row 0 stays. Empty: all of it.
  std::function<TokenTree(std::span<const Token> text, const TokenTree& tree)> fitting = {};
  const RoundCosts* costs = nullptr;  ///< of passes, for Stats::plain_seconds; null: not measured
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
