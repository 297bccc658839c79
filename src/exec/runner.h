// Passes over rows of one sequence or of several: what they read, what they return, and the interface of whoever runs them.
#pragma once

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "exec/kv_buffers.h"
#include "exec/layer_plan.h"
#include "exec/plan.h"
#include "kernels/abi.h"

namespace skipstone::exec {

/// Drafts and their verification as one submission: `most` drafts at most, one row each through `draft`, the first after `pending` at text
/// position `base`; then the full model over the pending token and the drafts.
struct RoundSpec {
  LayerPlan draft;
  bool predicts = false;          ///< the model's head for multi-token prediction drafts, instead of `draft`
  std::uint32_t kept_layers = 0;  ///< the verification starts after this many leading full layers of `draft`; 0: at the first
  std::int32_t pending = 0;
  std::uint32_t base = 0, most = 0;  ///< 1 <= most < STEP_VERIFY_ROWS, base + most < context
  float least_probability = 0;       ///< a draft below it is the last; so is a draft whose probability is NaN
  /// Of the verification: advance.comp chooses among powers of two.
  std::uint32_t largest_bucket() const { return std::bit_ceil(most + 1); }
};

/// The rows of a sequence in a pass.
struct Rows {
  std::span<const std::int32_t> tokens;
  std::uint32_t base = 0;  ///< text position of row 0
  std::uint32_t kept = 0;  ///< index of row 0 in the saved hidden states
  /// For passes with `tree`: the row that each row follows, or the row itself if it is at `base`; empty if row i follows row i - 1. Other
  /// passes: row i is at position base + i.
  std::span<const std::uint32_t> parents = {};
  /// For passes with `tree` over local layers only: number of rows of the tree that other passes at `base` have already computed. `parents`
  /// includes them, `tokens` has only the rows after them.
  std::uint32_t computed = 0;
  KeyWindow window = {};                                   ///< for passes with `window`
  std::span<const abi::CandidateRequest> candidates = {};  ///< for passes with Output::candidates: the request of each row
};

/// Rows with the pages of their sequence; pages of the rows are not shared (SequenceMemory::reserve).
struct SequenceRows {
  PageLists pages;
  Rows rows;
};

/// Results of a pass or a round for one sequence: copies, which later passes do not change.
struct PassResults {
  std::vector<abi::RowResult> rows;  ///< of passes with Output::argmax, and of a round's verification
  std::vector<float> logits;         ///< of passes with Output::logits: `vocabulary` of each row, `logits_stride` apart
  std::size_t logits_stride = 0;
  std::vector<abi::CandidateResult> candidates;  ///< of passes with Output::candidates
  std::uint64_t pass = 0;                        ///< number of the pass on its runner
  std::uint32_t first_row = 0;                   ///< the row of the pass that is this sequence's first
  std::vector<float> hidden;                     ///< of passes with Output::hidden: `width` of each row
  abi::RoundResult round{};
  std::vector<abi::RowResult> drafts;
  /// Sums of passes with cosines, of all attention sublayers, then of all MLPs; each pass adds to them.
  std::vector<float> cosine_sums;
  ExpertUse experts{};                        ///< of the pass, or of a round's verification, over the local layers
  double seconds = 0;                         ///< from the submission to its end
  double remote_seconds = 0;                  ///< of these, on the devices of remote layers
  std::optional<double> device_microseconds;  ///< on the device's clock, if requested
};

/// Decides when the next slices of a pass run.
class PassSlicer {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~PassSlicer() = default;
  /// Number of next slices to run now, as one submission; at least one. `seconds`: the recent time of each, 0 if it has not run. May wait,
  /// and throw to end the pass.
  virtual std::size_t next(std::span<const double> seconds) = 0;
  /// The slices have been submitted; they are done, or will never be.
  virtual void submitted() = 0;
  virtual void done() = 0;
  /// The time, excluding the waits of the functions above.
  virtual Clock::time_point now() const = 0;
};

class LocalRunner;
class PipelineRunner;

/// Work to do while a pass is on remote devices.
using Meanwhile = std::function<void(PipelineRunner&)>;

/// How a pass of one sequence runs. The bits are the same in any case.
struct PassControl {
  PassSlicer* slicer = nullptr;          ///< the pass runs in slices, when the slicer says so; null: as one submission
  const Meanwhile* meanwhile = nullptr;  ///< called while the pass is on remote devices, if there are any; may run passes over local layers
};

/// Used by one thread at a time; several runners of one cache may run at once.
class Runner {
 public:
  virtual ~Runner() = default;

  /// Runs `spec` over the rows of all sequences, in order; returns when it is done. K and V of a sequence's row i are stored at its base +
  /// i. If `spec` saves hidden states, they are saved at kept, kept + 1, ...; if it starts from saved hidden states, it reads those at 0,
  /// 1, ... The caller keeps base + rows within the context, and kept + rows within STEP_VERIFY_ROWS. Several sequences: no prompts, no
  /// saved hidden states.
  virtual void run(const PassSpec& spec, std::span<const SequenceRows> sequences, const PassControl& control) = 0;
  /// Copies the results of `count` rows of the last pass, from row `first` on.
  virtual void collect(const PassSpec& spec, std::uint32_t first, std::uint32_t count, PassResults& results) = 0;
  /// Moves K and V of the rows `path` (ascending) of a pass at `base` to base, base + 1, ..., in all layers.
  virtual void move(std::uint32_t base, std::span<const std::uint32_t> path, const PageLists& pages) = 0;
  /// The runner of the layers on this device.
  virtual LocalRunner& local() = 0;

  /// run() over the rows of one sequence, with its results.
  void run(const PassSpec& spec, const SequenceRows& sequence, PassResults& results, const PassControl& control = {});
};

/// Throws internal if `spec` cannot run over these rows in a context of `context` positions.
void check_rows(const PassSpec& spec, std::span<const SequenceRows> sequences, std::uint32_t context);

}  // namespace skipstone::exec
