// Runs passes of one sequence on a device: records them on first use, replays them afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exec/key_window.h"
#include "exec/pacer.h"
#include "exec/pass_builder.h"
#include "exec/pass_cache.h"
#include "exec/pass_pieces.h"
#include "exec/sequence_buffers.h"
#include "kernels/library.h"
#include "model/weights.h"

namespace skipstone::exec {

/// Drafts and their verification as one submission: `most` drafts at most, one row each through `draft`, the first after `pending` at text
/// position `base`; then the whole model over the pending token and the drafts.
struct RoundSpec {
  LayerPlan draft;
  std::uint32_t kept_layers = 0;  ///< the verification starts behind this many leading whole layers of `draft`; 0: at the first
  std::int32_t pending = 0;
  std::uint32_t base = 0, most = 0;  ///< 1 <= most < STEP_VERIFY_ROWS, base + most < context
  float least_probability = 0;       ///< a draft below it is the last; one that is no number (NaN) is too
};

/// The rows of a pass.
struct Rows {
  std::span<const std::int32_t> tokens;
  std::uint32_t base = 0;  ///< text position of row 0
  std::uint32_t kept = 0;  ///< where row 0 goes in the kept rows
  /// Of passes with `tree`: the row that each one follows, or itself where it stands at `base`. Others: row i at position base + i.
  std::span<const std::uint32_t> parents = {};
  KeyWindow window = {};  ///< of passes with `window`
};

class Executor {
 public:
  Executor(const std::shared_ptr<vk::Device>& device, kernels::Library& library, const PassBuilder& builder, const model::Config& config,
           const model::Weights& weights, const SequenceShape& shape);

  /// Runs `spec` over `rows` (1..bucket of them); returns when it is done. K and V of row i stand in the cache at base + i.
  /// Where `spec` keeps rows, they become the kept rows kept, kept + 1, ...; where it starts from kept rows, these are 0, 1, ...
  /// The caller keeps base + rows within the context, and kept + rows within STEP_VERIFY_ROWS.
  void run(const PassSpec& spec, const Rows& rows);
  /// From now on run() takes passes in pieces, when `pacer` says so; null: each as one submission again. The bits are the same.
  void pace(Pacer* pacer) { pacer_ = pacer; }
  /// Moves K and V of the rows `path` (ascending) of a pass at `base` to base, base + 1, ...; nothing to do where they stand there already.
  void keep_path(std::uint32_t base, std::span<const std::uint32_t> path);

  /// Runs one workgroup of each dispatch, whose results mean nothing: drivers that compile a kernel when it first runs (lavapipe) do it
  /// here. Before any pass. `progress` gets 0..1.
  void warm_up(std::span<const kernels::Dispatch> dispatches, const std::function<void(double)>& progress);

  /// Runs `round`; returns when it is done. round_result() says how many drafts there are and how many were accepted, drafts() what they
  /// are, result(row) what the model chose after the pending token (row 0) and after each draft.
  void run(const RoundSpec& round);
  const abi::RoundResult& round_result() const { return buffers_.round_result(); }
  std::span<const abi::RowResult> drafts() const { return {buffers_.drafts(), buffers_.round_result().drafted}; }

  /// Of the last pass with Output::argmax: row `row` (0 where last_row_only).
  const abi::RowResult& result(std::uint32_t row) const { return buffers_.results()[row]; }
  /// Of the last pass with Output::logits: `vocabulary` floats.
  std::span<const float> logits(std::uint32_t row) const;

  /// `width` floats of row `row` of the last pass with Output::hidden (0 where last_row_only).
  std::vector<float> hidden(std::uint32_t row);

  /// Sums over the rows of passes with cosines since the last clear: of all attention sublayers, then of all MLPs; 0 of those that no pass
  /// has measured.
  void clear_cosines();
  std::vector<float> cosine_sums() const;

  /// Seconds from the submissions of all passes so far to their ends: what the host waited.
  double device_seconds() const { return device_seconds_; }
  /// Time of the last pass on the device, while TimedPasses is there; nothing without, and where the device's clock is not to be had.
  std::optional<double> device_microseconds() const;

  /// Passes and rounds that were begun so far.
  std::uint64_t runs() const { return runs_; }
  const SequenceShape& shape() const { return shape_; }
  std::size_t recorded_passes() const { return cache_.size(); }
  /// The keys and values of one layer as they are in the cache, for tests: raw bytes of K, then V.
  std::vector<std::byte> read_kv(std::uint32_t layer);
  /// The embeddings of `tokens` (at most 256): width floats each.
  std::vector<float> read_embeddings(std::span<const std::int32_t> tokens);

 private:
  friend class TimedPasses;
  friend class KvSnapshot;
  friend class KvBytes;
  vk::Slice resolve(const kernels::Resource& resource) const;
  vk::Commands record(const PassSpec& spec);
  PassPieces record_pieces(const PassSpec& spec);
  /// What belongs to `spec` behind its dispatches: results to where the host reads them.
  void read_back(vk::Recorder& recorder, const PassSpec& spec);
  void run_in_pieces(const PassSpec& spec);
  std::vector<float> download(const vk::Slice& rows, std::size_t count);
  void wait(std::uint64_t submission);
  /// What the next pass, one of `spec`, reads.
  void write_state(const Rows& rows, const PassSpec& spec);
  void write_paths(std::span<const std::uint32_t> parents);

  std::shared_ptr<vk::Device> device_;
  kernels::Library& library_;
  const PassBuilder& builder_;
  const model::Config& config_;
  const model::Weights& weights_;
  SequenceShape shape_;
  mutable SequenceBuffers buffers_;
  vk::Queue queue_;
  double device_seconds_ = 0;
  std::uint64_t runs_ = 0;
  bool timed_ = false;
  const vk::Commands* last_ = nullptr;  ///< the last pass, for its time
  PassCache<vk::Commands> cache_;
  PassCache<PassPieces> pieces_;
  Pacer* pacer_ = nullptr;
  std::optional<vk::Commands> move_;          ///< keep_path()'s, of all layers
  std::vector<const vk::Commands*> several_;  ///< the recordings of one submission; kept for its memory
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
