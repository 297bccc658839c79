// The passes of one sequence: its pages in the cache, and the results of its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "exec/sequence_memory.h"
#include "exec/worker.h"

namespace skipstone::exec {

/// The reservation of the runner's saved hidden states for one sequence: no pass of another sequence writes there.
class HiddenStatesReservation {
 public:
  HiddenStatesReservation(BatchScheduler& scheduler, BatchScheduler::Client& client) : scheduler_(scheduler), client_(client) {}

  /// Reserves them until release(), or until the sequence becomes idle. False if another sequence holds them; with `wait`, waits until they
  /// are free. True at once for a sequence with its own runner.
  bool acquire(bool wait);
  void release();
  /// Whether this sequence has reserved those of the shared runner.
  bool held() const { return held_; }

 private:
  friend class Executor;
  BatchScheduler& scheduler_;
  BatchScheduler::Client& client_;
  bool held_ = false;
  bool shared_ = true;  ///< the sequence uses the shared runner
};

/// Used by one thread at a time; several executors of one worker may run at once.
class Executor {
 public:
  explicit Executor(Worker& worker);

  /// Runs `spec` over `rows` (1..bucket of them); returns when it is done. K and V of row i are stored at position base + i. If `spec`
  /// saves hidden states, they are saved at kept, kept + 1, ...; if it starts from saved hidden states, it reads those at 0, 1, ... The
  /// caller keeps base + rows within the context, and kept + rows within STEP_VERIFY_ROWS. Only the sequence that holds the saved hidden
  /// states saves any. Throws out_of_memory if the cache has no pages for the rows. Sliding-window layers must have what the rows see
  /// (SequenceMemory::is_complete). `meanwhile`: as in PassControl; not called in a batched pass.
  void run(const PassSpec& spec, const Rows& rows, const Meanwhile& meanwhile = {});
  /// From now on run() splits passes into slices, which run when `slicer` says so; null: each pass is one submission again. The bits are
  /// the same.
  void set_slicer(PassSlicer* slicer) {
    slicer_ = slicer;
    hidden_states_.shared_ = slicer == nullptr;
  }
  /// Moves K and V of the rows `path` (ascending) of a pass at `base` to base, base + 1, ...; does nothing if they are already there.
  void keep_path(std::uint32_t base, std::span<const std::uint32_t> path);

  /// Runs `round`; returns when it is done. results() has the numbers of drafts and of accepted drafts, and the drafts; result(row) is the
  /// model's choice after the pending token (row 0) and after each draft.
  void run(const RoundSpec& round);

  /// Of the last pass or round. The sums of cosines are of all passes with cosines since clear_cosines(); 0 of sublayers that no pass has
  /// measured.
  const PassResults& results() const { return results_; }
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

  void clear_cosines();

  /// Seconds of all passes so far, of this sequence and of the sequences batched with it.
  struct Times {
    double device_seconds = 0;  ///< from submission to end
    double remote_seconds = 0;  ///< of these, on the devices of remote layers
    ExpertUse experts{};        ///< of passes that choose tokens as the whole model does
  };
  const Times& times() const { return times_; }

  HiddenStatesReservation& hidden_states() { return hidden_states_; }
  /// As LocalRunner::move.
  void move_here(std::uint32_t base, std::span<const std::uint32_t> path, std::uint32_t to, bool kept);

  /// Whether other sequences run passes at this time. False with a slicer, whose sequence has its own runner.
  bool has_concurrent_sequences() const { return slicer_ == nullptr && worker_.scheduler().has_concurrent_sequences(client_); }
  /// Rows of concurrent sequences in the last pass.
  std::uint32_t concurrent_rows() const { return worker_.scheduler().concurrent_rows(client_); }
  /// Marks the sequence idle: the scheduler does not wait for it until it runs a pass again.
  void set_idle() {
    client_.set_idle();
    hidden_states_.held_ = false;
  }

  const SequenceMemory& pages() const { return pages_; }
  SequenceMemory& pages() { return pages_; }
  /// Reserves pages for the positions from `first` to before `end`, so that passes which run meanwhile find them (SequenceMemory::reserve).
  void reserve(std::uint32_t first, std::uint32_t end) { pages_.reserve(first, end, keeps_all_pages_); }
  /// Sliding-window layers keep pages that no row sees any more, for a caller that rolls back.
  void keep_all_pages() { keeps_all_pages_ = true; }

  Worker& worker() const { return worker_; }
  const LoadedModel& model() const { return worker_.model(); }
  std::size_t recorded_passes();

 private:
  friend class TimedPasses;
  /// Runs `work` with the runner of the sequence's passes, while no pass runs on it.
  void run_alone(const std::function<void(Runner&)>& work);
  void remember(const PassSpec& spec, const Rows& rows);
  /// Chooses the states of a pass of `spec` at `base`; one that leaves states leaves those of `written`.
  void begin_pass(const PassSpec& spec, std::uint32_t base, std::uint32_t written);

  Worker& worker_;
  BatchScheduler::Client client_;
  HiddenStatesReservation hidden_states_;
  SequenceMemory pages_;
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
  Times times_;
  PassSlicer* slicer_ = nullptr;
  std::unique_ptr<Runner> own_runner_;  ///< of a sequence whose passes run in slices
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
