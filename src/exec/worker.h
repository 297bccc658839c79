// What the sequences of an engine share to run passes: the cache of keys and values, the runner and the scheduler.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "exec/batch_scheduler.h"
#include "exec/kv_cache.h"
#include "exec/loaded_model.h"
#include "exec/local_runner.h"
#include "exec/stage_ring.h"

namespace skipstone::exec {

/// Thread-safe.
class Worker {
 public:
  /// Allocates the memory of passes and of the cache; throws out_of_memory. `model` outlives the worker. `ring`: to the devices of remote
  /// layers; null: all layers are local.
  explicit Worker(const LoadedModel& model, StageRing* ring = nullptr);

  const LoadedModel& model() const { return model_; }
  KvCache& cache() { return cache_; }
  BatchScheduler& scheduler() { return scheduler_; }
  /// A runner of its own for a sequence whose passes take long by intent.
  std::unique_ptr<Runner> new_runner();
  /// Returns when remote devices have completed all requests. Throws what a stage threw.
  void wait_for_stages() {
    if (ring_ != nullptr) ring_->wait();
  }

  bool has_remote_layers() const { return ring_ != nullptr; }
  /// As LocalRunner::warm_up, in a page of its own.
  void warm_up(const CacheDispatches& dispatches, const std::function<void(double)>& progress);
  /// Remote stages make their pipelines for `needs`, and warm up as this one does.
  void prepare_stages(const SessionPasses& needs);
  /// The embeddings of `tokens` (at most 256): width floats each.
  std::vector<float> read_embeddings(std::span<const std::int32_t> tokens);

 private:
  /// Runs `work` between passes, with pages for `positions` positions.
  void run_alone(std::uint32_t positions, const std::function<void(LocalRunner&, const PageLists&)>& work);

  const LoadedModel& model_;
  StageRing* ring_;
  KvCache cache_;
  std::unique_ptr<Runner> runner_;
  BatchScheduler scheduler_;
};

}  // namespace skipstone::exec
