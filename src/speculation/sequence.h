// The interfaces between speculation and a model on a device: passes over one sequence. They know neither Vulkan nor GGUF, so that
// drafters and the loop are tested with a fake one.
#pragma once

#include <chrono>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "exec/layer_plan.h"
#include "sample/sampler.h"
#include "speculation/draft_source.h"
#include "speculation/early_exit.h"
#include "speculation/token_tree.h"

namespace skipstone::speculation {

using sample::Choice;

struct Prefilled {
  Choice first;                         ///< the full model's choice after the last prompt token
  std::vector<float> attention_cosine;  ///< one per layer: mean over positions of cos(residual before, after) the attention sublayer; empty
                                        ///< unless requested
  std::uint32_t found = 0;              ///< cached tokens: leading ones whose keys and values no pass had to compute
  bool interrupted = false;             ///< only a part of the tokens is committed, and there is no choice
};

/// The result of a verification.
struct Verified {
  std::vector<Choice> choices;  ///< by row: the full model's choice after it
  std::vector<Token> top;       ///< by row: its likeliest tokens, the likeliest first, -1 where there are fewer; empty unless requested
};

struct SequenceLimits {
  std::uint32_t layers = 0;
  std::uint32_t context = 0;  ///< most tokens that the KV cache holds
  std::uint32_t rows = 0;     ///< most rows of one verification (pending + drafts)
};

struct SequenceTimes {
  /// Without the time that the caller of a stepped generation spends between steps.
  std::chrono::steady_clock::time_point now;
  double device_seconds = 0;           ///< that the passes so far have waited for the device; for statistics
  double remote_seconds = 0;           ///< of these, at the devices of other layers
  double pipelined_seconds = 0;        ///< of these, in which drafts were made that were used
  std::uint64_t pipelined_drafts = 0;  ///< number of these drafts
  exec::ExpertUse experts{};           ///< of passes that choose tokens as the whole model does
};

/// A round's drafts from one source, and what the sequence is to do with them.
struct RoundRequest {
  const DraftSource& source;
  Token pending = -1;
  std::uint32_t most = 0;        ///< drafts; from 1 on, with most + 1 rows within the limits
  double least_probability = 0;  ///< a draft below it is the last
};

struct DraftedRound {
  std::vector<Choice> drafts;
  std::vector<Choice> verified;  ///< the full model's choices after the pending token and after each draft: drafts.size() + 1
};

/// Whether drafting continues after a draft of this probability; not after NaN.
inline bool goes_on(const Choice& draft, double least_probability) { return static_cast<double>(draft.probability) >= least_probability; }

/// Drafts and their verification in one submission.
class RoundRunner {
 public:
  virtual ~RoundRunner() = default;
  /// Does exactly what draft() and verify() would do one by one, drafting on until `most`, a draft below `least_probability` or one without
  /// a number, which is left out. False, with nothing done, if it does not run this round: the caller steps it.
  virtual bool round(const RoundRequest& request, DraftedRound& out) = 0;
};

/// Verification of rows that share nothing.
class BlockVerifier {
 public:
  virtual ~BlockVerifier() = default;
  /// As Sequence::verify(): each row is the pending token and drafts after it, and has to fit the limits by itself; out[i][j] is the choice
  /// after rows[i][j]. Takes as many passes as it needs. Commits nothing.
  virtual void verify_block(std::span<const std::vector<Token>> rows, std::span<std::vector<Choice>> out) = 0;
  /// Keeps the first `tokens` tokens of rows[row], where `rows` are those of the verify_block() that was the last pass.
  virtual void commit_row(std::span<const std::vector<Token>> rows, std::uint32_t row, std::uint32_t tokens) = 0;
};

/// Passes that may end early (lossy).
class EarlyExitRunner {
 public:
  virtual ~EarlyExitRunner() = default;
  /// The model over the pending token, left early where `request` says so: as a verification of one row, which it replaces, but not exact.
  virtual EarlyExit exit_early(const EarlyExitRequest& request, Token pending) = 0;
};

/// Measurements by which skip sets are chosen.
class SkipSetProbe {
 public:
  virtual ~SkipSetProbe() = default;
  /// A pass of `plan` over `rows` at positions committed()...: out[i] is its choice after rows[i], which is what a draft in the i-th place
  /// of a round would be if all before it were right. 1 <= rows.size() == out.size(), within the limits. Commits nothing.
  virtual void score(const exec::LayerPlan& plan, std::span<const Token> rows, std::span<Choice> out) = 0;
  /// As Prefilled::attention_cosine, over the last `tokens` committed tokens, at least one, at most a verification's rows and none of a
  /// prompt's: one pass that leaves the cache as it is, and changes nothing else.
  virtual std::vector<float> attention_cosine(std::uint32_t tokens) = 0;
};

/// What a sequence can do besides drafting and verifying; null: it cannot.
struct SequenceExtensions {
  RoundRunner* rounds = nullptr;
  BlockVerifier* blocks = nullptr;
  EarlyExitRunner* exits = nullptr;
  SkipSetProbe* skip_sets = nullptr;
};

/// One sequence. `committed()` tokens are in the KV cache; the *pending* token (the last one emitted) is not.
class Sequence {
 public:
  virtual ~Sequence() = default;
  virtual SequenceLimits limits() const = 0;
  virtual std::uint32_t committed() const = 0;
  virtual SequenceTimes times() const { return {std::chrono::steady_clock::now(), 0}; }
  /// Concurrent rows of the last pass: those of other sequences that share the device.
  virtual std::uint32_t concurrent_rows() const { return 0; }

  /// Runs the full model over `tokens` from position committed() on, and commits them. At least one token; they must fit.
  virtual Prefilled prefill(std::span<const Token> tokens, bool attention_cosine) = 0;

  /// One draft by `source`: `input` is at position committed() + offset, where offset 0 is the pending token and offsets follow each other
  /// within a round. Writes K and V of the layers that run. Token -1 says that no logit is a number; the loop then drafts no further, since
  /// leaving sublayers out may overflow where the model does not. Throws unsupported if the sequence has no runner for the source.
  virtual Choice draft(const DraftSource& source, Token input, std::uint32_t offset) = 0;

  /// The full model over the pending token (row 0) and the drafts, each at position committed() + its depth and after its ancestors;
  /// overwrites what the drafts left there. A row's choice is the same, to the bit, as if its ancestors were the text and it alone was
  /// requested; `top` changes none: it is how many of every row's likeliest tokens are wanted. The rows are within the limits, and as many
  /// positions within the context. Commits nothing.
  virtual void verify(const TokenTree& rows, std::uint32_t top, Verified& out) = 0;

  /// Keeps rows of the last verification: row 0, then each the child of the one before it. The rest is rolled back by length; where the
  /// path leaves rows out, the keys and values after them move up.
  virtual void commit(std::span<const std::uint32_t> path) = 0;

  /// The last `tokens` tokens are committed no more. Verified and committed again they leave what they had left, unless they were a
  /// prompt's.
  virtual void rollback(std::uint32_t tokens) = 0;

  virtual SequenceExtensions extensions() { return {}; }
};

/// Blocks for a sequence without an own way to verify them: one pass for each row.
class RowByRowVerifier final : public BlockVerifier {
 public:
  explicit RowByRowVerifier(Sequence& sequence) : sequence_(sequence) {}
  void verify_block(std::span<const std::vector<Token>> rows, std::span<std::vector<Choice>> out) override {
    Verified verified;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      sequence_.verify(TokenTree::chain(rows[i][0], std::span(rows[i]).subspan(1)), 0, verified);
      out[i] = verified.choices;
    }
  }

  void commit_row(std::span<const std::vector<Token>> rows, std::uint32_t row, std::uint32_t tokens) override {
    const TokenTree chain = TokenTree::chain(rows[row][0], std::span(rows[row]).subspan(1, tokens - 1));
    Verified again;
    if (row + 1 < rows.size()) sequence_.verify(chain, 0, again);  // the rows after it have taken its place in the cache
    std::vector<std::uint32_t> path(tokens);
    std::iota(path.begin(), path.end(), 0u);
    sequence_.commit(path);
  }

 private:
  Sequence& sequence_;
};

}  // namespace skipstone::speculation
