// The passes of one sequence: its pages in the cache, and the results of its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exec/batch_scheduler.h"

namespace skipstone::exec {

/// Used by one thread at a time; several executors of one scheduler may run at once.
class Executor {
 public:
  explicit Executor(BatchScheduler& passes);

  /// Runs `spec` over `rows` (1..bucket of them); returns when it is done. K and V of row i are stored at position base + i. If `spec`
  /// saves hidden states, they are saved at kept, kept + 1, ...; if it starts from saved hidden states, it reads those at 0, 1, ... The
  /// caller keeps base + rows within the context, and kept + rows within STEP_VERIFY_ROWS. Only the sequence that holds the saved hidden
  /// states saves any. Throws out_of_memory if the cache has no pages for the rows. Sliding-window layers must have what the rows see
  /// (SequencePages::is_complete). `meanwhile`: as PassRunner::run; not called in a batched pass.
  void run(const PassSpec& spec, const Rows& rows, const Meanwhile& meanwhile = {});
  /// From now on run() splits passes into slices, which run when `slicer` says so; null: each pass is one submission again. The bits are
  /// the same.
  void set_slicer(PassSlicer* slicer) { slicer_ = slicer; }
  /// Moves K and V of the rows `path` (ascending) of a pass at `base` to base, base + 1, ...; does nothing if they are already there.
  void keep_path(std::uint32_t base, std::span<const std::uint32_t> path);

  /// Runs `round`; returns when it is done. round_result() has the numbers of drafts and of accepted drafts, drafts() the drafts,
  /// result(row) the model's choice after the pending token (row 0) and after each draft.
  void run(const RoundSpec& round);
  const abi::RoundResult& round_result() const { return results_.round; }
  std::span<const abi::RowResult> drafts() const { return results_.drafts; }

  /// Result of row `row` (0 where last_row_only) of the last pass with Output::argmax.
  const abi::RowResult& result(std::uint32_t row) const { return results_.rows[row]; }
  /// Candidates of the last pass with Output::candidates; null if the pass computed logits, because concurrent rows requested those.
  const abi::CandidateResult* candidates(std::uint32_t row) const {
    return row < results_.candidates.size() ? &results_.candidates[row] : nullptr;
  }
  /// Logits of the last pass with Output::logits: `vocabulary` floats. Also of a pass with candidates, until K and V of its rows are moved
  /// or overwritten: the row is read from the device, or computed again. Valid until the next call or pass.
  std::span<const float> logits(std::uint32_t row);
  /// `width` floats of row `row` of the last pass with Output::hidden (0 where last_row_only).
  std::vector<float> hidden(std::uint32_t row) const;

  /// Sums over the rows of passes with cosines since the last clear: of all attention sublayers, then of all MLPs; 0 of those that no pass
  /// has measured.
  void clear_cosines();
  const std::vector<float>& cosine_sums() const { return results_.cosine_sums; }

  /// Seconds from submission to end of all passes so far: device time of this sequence and of the sequences batched with it.
  double device_seconds() const { return device_seconds_; }
  /// Seconds of these that passes spent on the devices of remote layers.
  double remote_seconds() const { return remote_seconds_; }
  /// Device time of the last pass, while a TimedPasses exists; nothing without one, and where the device's clock is not available.
  std::optional<double> device_microseconds() const { return results_.device_microseconds; }

  /// Acquires the saved hidden states for this sequence until it releases them or becomes idle. False if another sequence holds them; with
  /// `wait`, waits until they are free.
  bool hold_hidden_states(bool wait);
  void release_hidden_states();
  /// As PassRunner::move_here.
  void move_here(std::uint32_t base, std::span<const std::uint32_t> path, std::uint32_t to, bool kept);
  bool holds_hidden_states() const { return holds_hidden_states_; }

  /// Whether other sequences run passes at this time. False with a slicer, whose sequence has its own runner.
  bool has_concurrent_sequences() const { return slicer_ == nullptr && passes_.has_concurrent_sequences(client_); }
  /// Rows of concurrent sequences in the last pass.
  std::uint32_t concurrent_rows() const { return passes_.concurrent_rows(client_); }
  /// Marks the sequence idle: the scheduler does not wait for it until it runs a pass again.
  void set_idle() {
    client_.set_idle();
    holds_hidden_states_ = false;
  }

  /// Returns when remote devices have completed all requests.
  void wait_for_stages() { passes_.wait_for_stages(); }

  const SequencePages& pages() const { return pages_; }
  /// The cache becomes that of the first `positions` positions of `from`; nothing is copied before one of the two writes there.
  void share(const SequencePages& from, std::uint32_t positions) { pages_.share(from, positions); }
  /// The pages of the sequence, none yet, to be filled with pages of other sequences.
  SequencePages& table() { return pages_; }
  /// Reserves pages for the positions from `first` to before `end`, so that passes which run meanwhile find them (SequencePages::reserve).
  void reserve(std::uint32_t first, std::uint32_t end) { pages_.reserve(first, end, keeps_all_pages_); }
  /// Releases the pages past the first `positions` positions.
  void truncate(std::uint32_t positions) { pages_.truncate(positions); }
  /// Sliding-window layers keep pages that no row sees any more, for a caller that rolls back.
  void keep_all_pages() { keeps_all_pages_ = true; }

  const SequenceShape& shape() const { return passes_.shape(); }
  /// Number of leading layers on the device that has the head: passes over these alone need no other device.
  std::uint32_t local_layers() const { return shape().end_of(config().layer_count()); }
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

  BatchScheduler& passes_;
  BatchScheduler::Client client_;
  SequencePages pages_;
  bool keeps_all_pages_ = false;
  PassResults results_;
  /// The last pass with candidates, as a pass with logits, in case all logits of a row are requested.
  struct {
    PassSpec spec;
    std::vector<std::int32_t> tokens;
    std::vector<std::uint32_t> parents;
    Rows rows;
  } again_;
  std::vector<float> whole_row_;
  double device_seconds_ = 0, remote_seconds_ = 0;
  bool holds_hidden_states_ = false;
  PassSlicer* slicer_ = nullptr;
  std::unique_ptr<PassRunner> own_runner_;  ///< of a sequence whose passes run in slices
};

/// While it exists, passes are recorded with timestamps at both ends, where a device has them and runs passes on a clock of its own (CPU
/// devices do not).
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
