// The passes of one sequence: its pages in the cache, and what its rows of a pass have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exec/pass_merger.h"

namespace skipstone::exec {

/// Used by one thread at a time; executors of a merger by several at once.
class Executor {
 public:
  explicit Executor(PassMerger& passes);

  /// Runs `spec` over `rows` (1..bucket of them); returns when it is done. K and V of row i stand in the cache at base + i.
  /// Where `spec` keeps rows, they become the kept rows kept, kept + 1, ...; where it starts from kept rows, these are 0, 1, ...
  /// The caller keeps base + rows within the context, and kept + rows within STEP_VERIFY_ROWS. Only who holds the kept rows keeps any.
  /// Throws out_of_memory where the cache has no pages for them. Layers with a window must have what the rows see
  /// (SequencePages::is_complete). `meanwhile`: as PassRunner::run; not called in company.
  void run(const PassSpec& spec, const Rows& rows, const Meanwhile& meanwhile = {});
  /// From now on run() takes passes in pieces, when `pacer` says so; null: each as one submission again. The bits are the same.
  void pace(Pacer* pacer) { pacer_ = pacer; }
  /// Moves K and V of the rows `path` (ascending) of a pass at `base` to base, base + 1, ...; nothing to do where they stand there already.
  void keep_path(std::uint32_t base, std::span<const std::uint32_t> path);

  /// Runs `round`; returns when it is done. round_result() says how many drafts there are and how many were accepted, drafts() what they
  /// are, result(row) what the model chose after the pending token (row 0) and after each draft.
  void run(const RoundSpec& round);
  const abi::RoundResult& round_result() const { return results_.round; }
  std::span<const abi::RowResult> drafts() const { return results_.drafts; }

  /// Of the last pass with Output::argmax: row `row` (0 where last_row_only).
  const abi::RowResult& result(std::uint32_t row) const { return results_.rows[row]; }
  /// Of the last pass with Output::candidates; null where the pass had logits, since rows of others beside it asked for those.
  const abi::CandidateResult* candidates(std::uint32_t row) const {
    return row < results_.candidates.size() ? &results_.candidates[row] : nullptr;
  }
  /// Of the last pass with Output::logits: `vocabulary` floats. Also of one with candidates, until K and V of its rows move or others stand
  /// there: the row is read from the device, or made once more. Valid until the next call or pass.
  std::span<const float> logits(std::uint32_t row);
  /// `width` floats of row `row` of the last pass with Output::hidden (0 where last_row_only).
  std::vector<float> hidden(std::uint32_t row) const;

  /// Sums over the rows of passes with cosines since the last clear: of all attention sublayers, then of all MLPs; 0 of those that no pass
  /// has measured.
  void clear_cosines();
  const std::vector<float>& cosine_sums() const { return results_.cosine_sums; }

  /// Seconds from the submissions of all passes so far to their ends: what the device took for this sequence and its company.
  double device_seconds() const { return device_seconds_; }
  /// Seconds of these that passes were at the devices of other layers.
  double away_seconds() const { return away_seconds_; }
  /// Time of the last pass on the device, while TimedPasses is there; nothing without, and where the device's clock is not to be had.
  std::optional<double> device_microseconds() const { return results_.device_microseconds; }

  /// The kept rows are this sequence's until it gives them back, or rests. False where another sequence has them, which is waited for with
  /// `wait`.
  bool hold_kept_rows(bool wait);
  void give_kept_rows();
  /// As PassRunner::move_here.
  void move_here(std::uint32_t base, std::span<const std::uint32_t> path, std::uint32_t to, bool kept);
  bool holds_kept_rows() const { return holds_kept_rows_; }

  /// Whether other sequences run passes at this time. Where a pacer says when passes run, no company is felt.
  bool in_company() const { return pacer_ == nullptr && passes_.in_company(member_); }
  /// Rows that the last pass had beside this sequence's.
  std::uint32_t rows_of_others() const { return passes_.rows_of_others(member_); }
  /// Nobody waits for this sequence until it runs a pass again.
  void rest() {
    member_.rest();
    holds_kept_rows_ = false;
  }

  /// Returns when other devices have done what they were asked.
  void wait_for_stages() { passes_.wait_for_stages(); }

  const SequencePages& pages() const { return pages_; }
  /// The cache becomes that of the first `positions` positions of `from`; nothing is copied before one of both writes there.
  void share(const SequencePages& from, std::uint32_t positions) { pages_.share(from, positions); }
  /// The cache, which is empty, as somebody fills it with pages of others.
  SequencePages& table() { return pages_; }
  /// Pages for the positions from `first` to before `end`, so that passes which run meanwhile find them (SequencePages::reserve).
  void reserve(std::uint32_t first, std::uint32_t end) { pages_.reserve(first, end, keeps_all_pages_); }
  /// Gives back what stands behind the first `positions` positions.
  void cut(std::uint32_t positions) { pages_.cut(positions); }
  /// Layers with a window keep what no row sees any more, for who goes back.
  void keep_all_pages() { keeps_all_pages_ = true; }

  const SequenceShape& shape() const { return passes_.shape(); }
  /// Layers, from the first one on, on the device that has the head: passes over these alone go to no other.
  std::uint32_t near_layers() const { return shape().end_of(config().layers); }
  const model::Config& config() const { return passes_.config(); }
  std::size_t recorded_passes();
  /// Runs one workgroup of each dispatch (PassRunner::warm_up).
  void warm_up(std::span<const kernels::Dispatch> dispatches, const std::function<void(double)>& progress);
  /// The embeddings of `tokens` (at most 256): width floats each.
  std::vector<float> read_embeddings(std::span<const std::int32_t> tokens);

 private:
  friend class TimedPasses;
  PassRunner& own_runner();
  void remember(const PassSpec& spec, const Rows& rows);

  PassMerger& passes_;
  PassMerger::Member member_;
  SequencePages pages_;
  bool keeps_all_pages_ = false;
  PassResults results_;
  /// The last pass with candidates, with logits instead, should a row of it be wanted whole.
  struct {
    PassSpec spec;
    std::vector<std::int32_t> tokens;
    std::vector<std::uint32_t> parents;
    Rows rows;
  } again_;
  std::vector<float> whole_row_;
  double device_seconds_ = 0, away_seconds_ = 0;
  bool holds_kept_rows_ = false;
  Pacer* pacer_ = nullptr;
  std::unique_ptr<PassRunner> own_runner_;  ///< of a sequence whose passes go in pieces
};

/// Passes that run while it is there are recorded with timestamps at both ends, where a device has them and runs passes on a clock of its
/// own (CPU devices do not).
class TimedPasses {
 public:
  explicit TimedPasses(Executor& sequence) : sequence_(sequence) { set(true); }
  ~TimedPasses() { set(false); }
  TimedPasses(const TimedPasses&) = delete;
  TimedPasses& operator=(const TimedPasses&) = delete;

 private:
  void set(bool timed);
  Executor& sequence_;
};

}  // namespace skipstone::exec
