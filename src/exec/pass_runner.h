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
#include "exec/pacer.h"
#include "exec/pass_buffers.h"
#include "exec/pass_builder.h"
#include "exec/pass_cache.h"
#include "exec/pass_pieces.h"
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

class PassRunner;

/// The rows of a sequence in a pass.
struct Rows {
  std::span<const std::int32_t> tokens;
  std::uint32_t base = 0;  ///< text position of row 0
  std::uint32_t kept = 0;  ///< where row 0 goes in the kept rows
  /// Of passes with `tree`: the row that each one follows, or itself where it stands at `base`; none where row i follows row i - 1. Others:
  /// row i at position base + i.
  std::span<const std::uint32_t> parents = {};
  /// Of passes with `tree` over layers that are all here: so many rows of the tree stand already, by other passes at `base`. `parents` has
  /// them too, `tokens` has those behind them alone.
  std::uint32_t standing = 0;
  KeyWindow window = {};  ///< of passes with `window`
  std::span<const abi::CandidateRequest> candidates = {};  ///< of passes with Output::candidates: what each row is asked for
};

/// The same, with the pages of the sequence; those of the rows are its own (SequencePages::reserve).
struct SequenceRows {
  PageLists pages;
  Rows rows;
};

/// What is done while a pass is elsewhere.
using Meanwhile = std::function<void(PassRunner&)>;

/// What a sequence has of a pass or a round: copies, which stay when other passes run.
struct PassResults {
  std::vector<abi::RowResult> rows;  ///< of passes with Output::argmax, and of a round's verification
  std::vector<float> logits;         ///< of passes with Output::logits: `vocabulary` of each row, `logits_stride` apart
  std::size_t logits_stride = 0;
  std::vector<abi::CandidateResult> candidates;  ///< of passes with Output::candidates
  std::uint64_t pass = 0;                        ///< by the runner's count
  std::uint32_t first_row = 0;                   ///< the pass's row that is this sequence's first
  std::vector<float> hidden;  ///< of passes with Output::hidden: `width` of each row
  abi::RoundResult round{};
  std::vector<abi::RowResult> drafts;
  /// Sums of passes with cosines, of all attention sublayers, then of all MLPs; each pass adds to what stands here.
  std::vector<float> cosine_sums;
  double seconds = 0;                         ///< from the submission to its end
  double away_seconds = 0;                    ///< of these, at the devices of other layers
  std::optional<double> device_microseconds;  ///< on the device's clock, where it was asked for
};

class StageRing;

/// Used by one thread at a time; runners of a cache by several at once. Where the device has a part of the layers, it runs its own and, if
/// they are the first ones, lets the others run around the ring (docs/many-devices.md).
class PassRunner {
 public:
  PassRunner(const std::shared_ptr<vk::Device>& device, kernels::Library& library, const PassBuilder& builder, const model::Config& config,
             const model::Weights& weights, const SequenceShape& shape, CacheBuffers& cache, StageRing* ring = nullptr);
  ~PassRunner();
  PassRunner(const PassRunner&) = delete;
  PassRunner& operator=(const PassRunner&) = delete;

  /// Runs `spec` over the rows of all sequences, in order; returns when it is done. K and V of a sequence's row i stand in the cache at its
  /// base + i. Where `spec` keeps rows, they become the kept rows kept, kept + 1, ...; where it starts from kept rows, these are 0, 1, ...
  /// The caller keeps base + rows within the context, and kept + rows within STEP_VERIFY_ROWS. Several sequences: no prompts, no kept rows.
  /// `pacer`: the pass runs in pieces, when it says so. The bits are the same. `meanwhile` is called while the pass is at the devices of
  /// other layers, where it is; it may run passes over layers that are here.
  void run(const PassSpec& spec, std::span<const SequenceRows> sequences, Pacer* pacer = nullptr, const Meanwhile& meanwhile = {});
  /// The same over the rows of one sequence, with what comes of it.
  void run(const PassSpec& spec, const SequenceRows& sequence, PassResults& results, Pacer* pacer = nullptr,
           const Meanwhile& meanwhile = {});
  /// Of a device behind the first one: its layers of a pass. `rows` come in where the pass does not begin here, and become those behind
  /// these layers; `cosines` those of its layers.
  void run_leg(const PassSpec& spec, std::span<const SequenceRows> sequences, std::vector<float>& rows, std::vector<float>& cosines);
  /// Whether all layers of a pass are on this device.
  bool stays_here(const PassSpec& spec) const;
  /// Whether what has gone around the ring is back; for `meanwhile`.
  bool is_back() const;
  /// What the rows from `first` on of the last pass have; `count` of them.
  void collect(const PassSpec& spec, std::uint32_t first, std::uint32_t count, PassResults& results);

  /// The logits of row `row` of pass `pass` (PassResults), one with Output::candidates; empty where the device has not got them any more.
  std::vector<float> logits_of(std::uint64_t pass, std::uint32_t row);

  /// Runs `round`; returns when it is done.
  void run(const RoundSpec& round, const PageLists& pages, PassResults& results);

  /// Moves K and V of the rows `path` (ascending) of a pass at `base` to base, base + 1, ...
  void move(std::uint32_t base, std::span<const std::uint32_t> path, const PageLists& pages);
  /// The same in the layers that are here alone, to base + `to`, base + `to` + 1, ...; with `kept`, what is kept of these rows goes to 0,
  /// 1,
  /// ... as well. No row of `path` is below its size then.
  void move_here(std::uint32_t base, std::span<const std::uint32_t> path, std::uint32_t to, const PageLists& pages, bool kept);

  /// Runs one workgroup of each dispatch, whose results mean nothing: drivers that compile a kernel when it first runs (lavapipe) do it
  /// here. They write to the first page of `pages`, which is nobody else's. `progress` gets 0..1.
  void warm_up(std::span<const kernels::Dispatch> dispatches, const PageLists& pages, const std::function<void(double)>& progress);

  /// The embeddings of `tokens` (at most 256): width floats each.
  std::vector<float> read_embeddings(std::span<const std::int32_t> tokens, const PageLists& pages);

  /// From now on passes are recorded with timestamps at both ends, or without, where a device has them and runs passes on a clock of its own
  /// (CPU devices do not).
  void set_timed(bool timed);
  std::size_t recorded_passes() const { return cache_.size(); }
  const SequenceShape& shape() const { return shape_; }

 private:
  vk::Slice resolve(const kernels::Resource& resource) const;
  CacheSlots slots() const { return {kv_.whole().slots(), kv_.windowed().slots()}; }
  vk::Commands record(const PassSpec& spec);
  PassPieces record_pieces(const PassSpec& spec);
  /// Recordings of buffers that are no longer the cache's go. The cache is held.
  void refresh();
  /// What belongs to a pass behind its dispatches: results to where the host reads them.
  void read_back(vk::Recorder& recorder, const Plan& plan);
  void run_in_pieces(const PassSpec& spec, Pacer& pacer);
  /// One leg, whose rows are where the device reads them; returns when it is done.
  void run_here(const PassSpec& spec, std::span<const SequenceRows> sequences, Pacer* pacer);
  /// Layers here, then those of others, then the output here.
  void run_around(const PassSpec& spec, std::span<const SequenceRows> sequences, Pacer* pacer, const Meanwhile& meanwhile);
  void put_rows(std::span<const float> rows, std::size_t first);
  std::vector<float> handed_rows(std::span<const SequenceRows> sequences) const;
  /// Of `sums`, those of the layers that are here, become what the last pass has made of them.
  void take_own_cosines(std::vector<float>& sums);
  std::span<float> cosine_totals() { return {buffers_.cosine_total(), std::size_t{2} * config_.layers}; }
  void begin_record(vk::Recorder& recorder, const PassSpec& spec);
  std::vector<float> download(const vk::Slice& rows, std::size_t count);
  vk::Commands copy_of_kept(std::span<const std::uint32_t> path) const;
  void wait(std::uint64_t submission);
  void check(const PassSpec& spec, std::span<const SequenceRows> sequences) const;
  /// What the next pass, one of `spec`, reads.
  void write_state(std::span<const SequenceRows> sequences, const PassSpec& spec);
  void write_tokens(std::span<const SequenceRows> sequences, std::uint32_t bucket);
  void write_paths(std::uint32_t first, const Rows& rows);
  void write_requests(std::span<const SequenceRows> sequences);
  /// Where the tables of `pages` begin among the page tables; they are up to date then.
  std::uint32_t table_of(const PageLists& pages, std::uint32_t sequence);

  std::shared_ptr<vk::Device> device_;
  kernels::Library& library_;
  const PassBuilder& builder_;
  const model::Config& config_;
  const model::Weights& weights_;
  SequenceShape shape_;
  CacheBuffers& kv_;
  StageRing* ring_;               ///< null: all layers are here, or the ring is the first device's
  std::uint32_t number_ = 0;      ///< of this runner on the ring
  std::uint64_t generation_ = 0;  ///< of the cache's buffers that the recordings name
  mutable PassBuffers buffers_;
  vk::Queue queue_;
  double seconds_ = 0, away_seconds_ = 0;  ///< of the last run
  std::uint64_t passes_ = 0;  ///< and other work that writes to the buffers
  bool timed_ = false;
  const vk::Commands* last_ = nullptr;  ///< the last pass, for its time
  PassCache<vk::Commands> cache_;
  PassCache<PassPieces> pieces_;
  std::optional<vk::Commands> move_;          ///< of all layers
  std::vector<const vk::Commands*> several_;  ///< the recordings of one submission; kept for its memory
};

}  // namespace skipstone::exec
