// Runs passes over layers on several devices: those of this device, which are the first ones, then those of the others, then the output
// (docs/many-devices.md).
#pragma once

#include <cstdint>
#include <span>

#include "exec/local_runner.h"
#include "exec/stage_ring.h"

namespace skipstone::exec {

/// A LocalRunner whose passes go around a ring for the remote layers.
class PipelineRunner : public Runner {
 public:
  /// All outlive the runner.
  PipelineRunner(const LoadedModel& model, KvBuffers& cache, StageRing& ring);
  ~PipelineRunner() override;
  PipelineRunner(const PipelineRunner&) = delete;
  PipelineRunner& operator=(const PipelineRunner&) = delete;

  using Runner::run;
  void run(const PassSpec& spec, std::span<const SequenceRows> sequences, const PassControl& control) override;
  void collect(const PassSpec& spec, std::uint32_t first, std::uint32_t count, PassResults& results) override;
  void move(std::uint32_t base, std::span<const std::uint32_t> path, const PageLists& pages) override;
  LocalRunner& local() override { return local_; }

  /// Whether the message that went around the ring is back; for `meanwhile`.
  bool is_back() const { return ring_.is_back(); }

 private:
  /// Whether all layers of a pass are on this device.
  bool is_local(const PassSpec& spec) const;
  void run_around(const PassSpec& spec, std::span<const SequenceRows> sequences, const PassControl& control);

  const LoadedModel& model_;
  StageRing& ring_;
  std::uint32_t number_;  ///< of this runner on the ring
  LocalRunner local_;
  bool returned_ = false;  ///< the last pass came back from the ring: the times below are its own
  double seconds_ = 0, remote_seconds_ = 0;
};

}  // namespace skipstone::exec
