// Runs passes on a device, over rows of one sequence or of several: records them on first use, replays them afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exec/key_window.h"
#include "exec/kv_cache.h"
#include "exec/pass_buffers.h"
#include "exec/pass_builder.h"
#include "exec/pass_cache.h"
#include "exec/pass_slices.h"
#include "kernels/library.h"
#include "model/weights.h"

namespace skipstone::exec {

/// Drafts and their verification as one submission: `most` drafts at most, one row each through `draft`, the first after `pending` at text
/// position `base`; then the full model over the pending token and the drafts.
struct RoundSpec {
  LayerPlan draft;
  std::uint32_t kept_layers = 0;  ///< the verification starts after this many leading full layers of `draft`; 0: at the first
  std::int32_t pending = 0;
  std::uint32_t base = 0, most = 0;  ///< 1 <= most < STEP_VERIFY_ROWS, base + most < context
  float least_probability = 0;       ///< a draft below it is the last; so is a draft whose probability is NaN
};

class PassRunner;

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
  KeyWindow window = {};  ///< for passes with `window`
  std::span<const abi::CandidateRequest> candidates = {};  ///< for passes with Output::candidates: the request of each row
};

/// Rows with the pages of their sequence; pages of the rows are not shared (SequencePages::reserve).
struct SequenceRows {
  PageLists pages;
  Rows rows;
};

/// Work to do while a pass is remote.
using Meanwhile = std::function<void(PassRunner&)>;

/// Results of a pass or a round for one sequence: copies, which later passes do not change.
struct PassResults {
  std::vector<abi::RowResult> rows;  ///< of passes with Output::argmax, and of a round's verification
  std::vector<float> logits;         ///< of passes with Output::logits: `vocabulary` of each row, `logits_stride` apart
  std::size_t logits_stride = 0;
  std::vector<abi::CandidateResult> candidates;  ///< of passes with Output::candidates
  std::uint64_t pass = 0;                        ///< number of the pass on its runner
  std::uint32_t first_row = 0;                   ///< the row of the pass that is this sequence's first
  std::vector<float> hidden;  ///< of passes with Output::hidden: `width` of each row
  abi::RoundResult round{};
  std::vector<abi::RowResult> drafts;
  /// Sums of passes with cosines, of all attention sublayers, then of all MLPs; each pass adds to them.
  std::vector<float> cosine_sums;
  double seconds = 0;                         ///< from the submission to its end
  double remote_seconds = 0;                  ///< of these, on the devices of remote layers
  std::optional<double> device_microseconds;  ///< on the device's clock, if requested
};

class StageRing;

/// Used by one thread at a time; several runners of one cache may run at once. A device with a part of the layers runs its own and, if they
/// are the first ones, sends the pass around the ring for the others (docs/many-devices.md).
class PassRunner {
 public:
  PassRunner(const std::shared_ptr<vk::Device>& device, kernels::Library& library, const PassBuilder& builder, const model::Config& config,
             const model::Weights& weights, const SequenceShape& shape, CacheBuffers& cache, StageRing* ring = nullptr);
  ~PassRunner();
  PassRunner(const PassRunner&) = delete;
  PassRunner& operator=(const PassRunner&) = delete;

  /// Runs `spec` over the rows of all sequences, in order; returns when it is done. K and V of a sequence's row i are stored at its base +
  /// i. If `spec` saves hidden states, they are saved at kept, kept + 1, ...; if it starts from saved hidden states, it reads those at 0,
  /// 1, ... The caller keeps base + rows within the context, and kept + rows within STEP_VERIFY_ROWS. Several sequences: no prompts, no
  /// saved hidden states. `slicer`: the pass runs in slices, when the slicer says so. The bits are the same. `meanwhile` is called while
  /// the pass is on the devices of remote layers, if there are any; it may run passes over local layers.
  void run(const PassSpec& spec, std::span<const SequenceRows> sequences, PassSlicer* slicer = nullptr, const Meanwhile& meanwhile = {});
  /// The same over the rows of one sequence, with its results.
  void run(const PassSpec& spec, const SequenceRows& sequence, PassResults& results, PassSlicer* slicer = nullptr,
           const Meanwhile& meanwhile = {});
  /// For a device after the first one: runs its layers of a pass. `rows` are the input unless the pass begins here, and become the output
  /// of these layers; `cosines` become those of its layers.
  void run_leg(const PassSpec& spec, std::span<const SequenceRows> sequences, std::vector<float>& rows, std::vector<float>& cosines);
  /// Whether all layers of a pass are on this device.
  bool stays_here(const PassSpec& spec) const;
  /// Whether the message that went around the ring is back; for `meanwhile`.
  bool is_back() const;
  /// Copies the results of `count` rows of the last pass, from row `first` on.
  void collect(const PassSpec& spec, std::uint32_t first, std::uint32_t count, PassResults& results);

  /// The logits of row `row` of pass `pass` (PassResults), one with Output::candidates; empty if the device no longer has them.
  std::vector<float> logits_of(std::uint64_t pass, std::uint32_t row);

  /// Runs `round`; returns when it is done.
  void run(const RoundSpec& round, const PageLists& pages, PassResults& results);

  /// Moves K and V of the rows `path` (ascending) of a pass at `base` to base, base + 1, ...
  void move(std::uint32_t base, std::span<const std::uint32_t> path, const PageLists& pages);
  /// The same in local layers only, to base + `to`, base + `to` + 1, ...; with `kept`, the saved hidden states of these rows move to 0, 1,
  /// ... as well. Then no row of `path` is below the size of `path`.
  void move_here(std::uint32_t base, std::span<const std::uint32_t> path, std::uint32_t to, const PageLists& pages, bool kept);

  /// Runs one workgroup of each dispatch and ignores the results: drivers that compile a kernel when it first runs (lavapipe) compile it
  /// here. The dispatches write to the first page of `pages`, which is not shared. `progress` gets 0..1.
  void warm_up(std::span<const kernels::Dispatch> dispatches, const PageLists& pages, const std::function<void(double)>& progress);

  /// The embeddings of `tokens` (at most 256): width floats each.
  std::vector<float> read_embeddings(std::span<const std::int32_t> tokens, const PageLists& pages);

  /// From now on passes are recorded with timestamps at both ends, or without; only where a device has them and runs passes on a clock
  /// of its own (CPU devices do not).
  void set_timed(bool timed);
  std::size_t recorded_passes() const { return cache_.size(); }
  const SequenceShape& shape() const { return shape_; }

 private:
  vk::Slice resolve(const kernels::Resource& resource) const;
  CacheSlots slots() const { return {kv_.full().slots(), kv_.sliding().slots()}; }
  vk::Commands record(const PassSpec& spec);
  PassSlices record_slices(const PassSpec& spec);
  /// Drops recordings of buffers that the cache no longer has. The caller holds the cache.
  void refresh();
  /// Records what follows the dispatches of a pass: copies of results to where the host reads them.
  void read_back(vk::Recorder& recorder, const Plan& plan);
  void run_in_slices(const PassSpec& spec, PassSlicer& slicer);
  /// Runs one direction, whose rows are where the device reads them; returns when it is done.
  void run_here(const PassSpec& spec, std::span<const SequenceRows> sequences, PassSlicer* slicer);
  /// Runs the local layers, then the remote ones, then the output locally.
  void run_around(const PassSpec& spec, std::span<const SequenceRows> sequences, PassSlicer* slicer, const Meanwhile& meanwhile);
  void put_rows(std::span<const float> rows, std::size_t first);
  std::vector<float> handed_rows(std::span<const SequenceRows> sequences) const;
  /// Replaces the sums of the local layers in `sums` by those of the last pass.
  void take_own_cosines(std::vector<float>& sums);
  std::span<float> cosine_totals() { return {buffers_.cosine_total(), std::size_t{2} * config_.layer_count()}; }
  void begin_record(vk::Recorder& recorder, const PassSpec& spec);
  std::vector<float> download(const vk::Slice& rows, std::size_t count);
  vk::Commands copy_of_kept(std::span<const std::uint32_t> path) const;
  void wait(std::uint64_t submission);
  void check(const PassSpec& spec, std::span<const SequenceRows> sequences) const;
  /// Writes the inputs of the next pass, one of `spec`.
  void write_state(std::span<const SequenceRows> sequences, const PassSpec& spec);
  void write_tokens(std::span<const SequenceRows> sequences, std::uint32_t bucket);
  void write_paths(std::uint32_t first, const Rows& rows);
  void write_requests(std::span<const SequenceRows> sequences);
  /// Offset of the tables of `pages` among the page tables, which are brought up to date.
  std::uint32_t table_of(const PageLists& pages, std::uint32_t sequence);

  std::shared_ptr<vk::Device> device_;
  kernels::Library& library_;
  const PassBuilder& builder_;
  const model::Config& config_;
  const model::Weights& weights_;
  SequenceShape shape_;
  CacheBuffers& kv_;
  StageRing* ring_;               ///< null: all layers are local, or this device is not the first of the ring
  std::uint32_t number_ = 0;      ///< of this runner on the ring
  std::uint64_t generation_ = 0;  ///< of the cache's buffers that the recordings name
  mutable PassBuffers buffers_;
  vk::Queue queue_;
  double seconds_ = 0, remote_seconds_ = 0;  ///< of the last run
  std::uint64_t passes_ = 0;  ///< including other work that writes to the buffers
  bool timed_ = false;
  const vk::Commands* last_ = nullptr;  ///< the last pass, for its time
  PassCache<vk::Commands> cache_;
  PassCache<PassSlices> slices_;
  std::optional<vk::Commands> move_;          ///< for all layers
  std::vector<const vk::Commands*> several_;  ///< the recordings of one submission; a member to reuse its memory
};

}  // namespace skipstone::exec
