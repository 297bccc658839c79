// Runs passes over the layers of one device: all of a model's, or a part of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "exec/pipelines.h"
#include "exec/readback.h"
#include "exec/recordings.h"
#include "exec/runner.h"
#include "exec/state_writer.h"
#include "vk/recorder.h"

namespace skipstone::exec {

class LocalRunner : public Runner {
 public:
  /// `model` and `cache` outlive the runner.
  LocalRunner(const LoadedModel& model, KvBuffers& cache);

  using Runner::run;
  void run(const PassSpec& spec, std::span<const SequenceRows> sequences, const PassControl& control) override;
  void collect(const PassSpec& spec, std::uint32_t first, std::uint32_t count, PassResults& results) override;
  void move(std::uint32_t base, std::span<const std::uint32_t> path, const PageLists& pages) override { move(base, path, 0, pages, false); }
  LocalRunner& local() override { return *this; }

  /// Runs `round`; returns when it is done. Only with all layers on this device.
  void run(const RoundSpec& round, const PageLists& pages, PassResults& results);
  /// As move(), but to base + `to`, base + `to` + 1, ...; with `kept`, the saved hidden states of these rows move to 0, 1, ... as well.
  /// Then no row of `path` is below the size of `path`.
  void move(std::uint32_t base, std::span<const std::uint32_t> path, std::uint32_t to, const PageLists& pages, bool kept);
  /// The logits of row `row` of pass `pass` (PassResults), one with Output::candidates; empty if the device no longer has them.
  std::vector<float> logits_of(std::uint64_t pass, std::uint32_t row) const;

  /// For passes whose layers are on several devices: begin_pass(), then run_layers() on each device with some of them, then run_output() on
  /// the first one. `rows` are of the residual stream, `padded(width)` floats each. The last two return the seconds from
  /// submission to end.
  void begin_pass(const PassSpec& spec, std::span<const SequenceRows> sequences);
  /// Runs the local layers. `rows` are the input unless the pass begins here, and become the output; `cosines` become those of the local
  /// layers.
  double run_layers(const PassSpec& spec, std::span<const SequenceRows> sequences, std::vector<float>& rows, std::vector<float>& cosines,
                    PassSlicer* slicer);
  /// Computes the output of `rows`, those of the pass from row `first` on.
  double run_output(PassSpec spec, std::span<const SequenceRows> sequences, std::span<const float> rows, std::size_t first,
                    PassSlicer* slicer);

  /// Runs one workgroup of each dispatch and ignores the results: drivers that compile a kernel when it first runs (lavapipe) compile it
  /// here. The dispatches write to the first page of `pages`, which is not shared; and to saved hidden states, but the one pipeline that
  /// does is made before any sequence saves them. `progress` gets 0..1.
  void warm_up(const CacheDispatches& dispatches, const PageLists& pages, const std::function<void(double)>& progress);
  /// The embeddings of `tokens` (at most 256): width floats each.
  std::vector<float> read_embeddings(std::span<const std::int32_t> tokens, const PageLists& pages);
  /// As Recordings::set_timed.
  void set_timed(bool timed);
  std::size_t recorded_passes() const { return recordings_.size(); }
  /// Sums of cosines that passes with cosines add to: of all attention sublayers, then of all MLPs.
  std::span<float> cosine_totals() { return {buffers_.cosine_total(), std::size_t{2} * model_.config.layer_count()}; }

 private:
  /// Runs one direction, whose rows are where the device reads them; returns the seconds from submission to end, which it adds to
  /// `seconds_`.
  double run_direction(const PassSpec& spec, std::span<const SequenceRows> sequences, PassSlicer* slicer);
  double run_at_once(const PassSpec& spec, std::span<const SequenceRows> sequences);
  double run_in_slices(const PassSpec& spec, std::span<const SequenceRows> sequences, PassSlicer& slicer);
  double wait(std::uint64_t submission);
  void put_rows(std::span<const float> rows, std::size_t first);

  const LoadedModel& model_;
  KvBuffers& cache_;
  PassBuffers buffers_;
  vk::Queue queue_;
  Recordings recordings_;
  StateWriter writer_;
  Readback readback_;
  double seconds_ = 0;                        ///< of the last run
  std::uint64_t passes_ = 0;                  ///< including other work that writes to the buffers
  const vk::Commands* last_ = nullptr;        ///< the last pass, for its time
  std::vector<const vk::Commands*> several_;  ///< the recordings of one submission; a member to reuse its memory
};

}  // namespace skipstone::exec
