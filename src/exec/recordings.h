// Recordings of passes: a pass is recorded once and replayed for every token, as one submission or as slices between which a program can
// have its own work.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exec/kv_cache.h"
#include "exec/loaded_model.h"
#include "exec/pass_buffers.h"
#include "exec/plan.h"
#include "vk/recorder.h"

namespace skipstone::exec {

struct PassSlices {
  std::vector<vk::Commands> recordings;
  std::vector<double> seconds;  ///< recent time of each slice, including submission and waiting; 0: it has not run

  /// Notes that `count` slices from `first` on took `measured` seconds together.
  void record_time(std::size_t first, std::size_t count, double measured);
};

/// Recordings by PassSpec.
template <typename Recording>
class PassCache {
 public:
  using Record = std::function<Recording(const PassSpec&)>;
  explicit PassCache(Record record) : record_(std::move(record)) {}

  Recording& get(const PassSpec& spec) {
    ++clock_;
    auto found = passes_.find(spec);
    if (found == passes_.end()) {
      if (passes_.size() >= capacity) {
        passes_.erase(std::ranges::min_element(passes_, {}, [](const auto& pass) { return pass.second.used; }));
      }
      found = passes_.emplace(spec, Entry{std::make_unique<Recording>(record_(spec))}).first;
    }
    found->second.used = clock_;
    return *found->second.recording;
  }
  void clear() { passes_.clear(); }
  std::size_t size() const { return passes_.size(); }

 private:
  /// Skip sets made per prompt would grow the cache for ever; beyond this many, the least recently used are removed.
  static constexpr std::size_t capacity = 64;

  struct Entry {
    std::unique_ptr<Recording> recording;
    std::uint64_t used = 0;
  };
  Record record_;
  std::unordered_map<PassSpec, Entry, PassSpecHash> passes_;
  std::uint64_t clock_ = 0;
};

/// The recordings of one runner, which name the buffers of its model, cache and passes.
class Recordings {
 public:
  Recordings(const LoadedModel& model, KvBuffers& cache, const PassBuffers& buffers);
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  /// Drops recordings of buffers that the cache no longer has: call it before the functions below. The caller holds the cache
  /// (KvBuffers::hold) until its submission has ended.
  void refresh();
  /// References are valid until PassCache's capacity drops them, refresh() or set_timed().
  const vk::Commands& pass(const PassSpec& spec) { return passes_.get(spec); }
  PassSlices& slices(const PassSpec& spec) { return slices_.get(spec); }
  /// Moves of K and V in all local layers.
  const vk::Commands& move();

  /// Not kept: one workgroup of each dispatch.
  vk::Commands one_workgroup_of_each(std::span<const kernels::Dispatch> dispatches) const;
  /// Not kept: copies the saved hidden states of the rows `path` to 0, 1, ...
  vk::Commands copy_of_hidden_states(std::span<const std::uint32_t> path) const;

  /// From now on passes are recorded with timestamps at both ends, or without; only where a device has them and runs passes on a clock
  /// of its own (CPU devices do not).
  void set_timed(bool timed);
  bool timed() const { return timed_; }
  std::size_t size() const { return passes_.size(); }

 private:
  vk::Slice resolve(const kernels::Resource& resource) const;
  void record(vk::Recorder& recorder, const kernels::Dispatch& dispatch) const;
  vk::Commands record_pass(const PassSpec& spec) const;
  PassSlices record_slices(const PassSpec& spec) const;
  /// Records what precedes the dispatches of a pass: rows from another device.
  void begin_pass(vk::Recorder& recorder, const PassSpec& spec) const;
  /// Records what follows them: copies of results to where the host reads them.
  void end_pass(vk::Recorder& recorder, const Plan& plan) const;

  const LoadedModel& model_;
  KvBuffers& cache_;
  const PassBuffers& buffers_;
  kernels::Resolver resolver_;
  std::uint64_t generation_ = 0;  ///< of the cache's buffers that the recordings name
  bool timed_ = false;
  PassCache<vk::Commands> passes_;
  PassCache<PassSlices> slices_;
  std::optional<vk::Commands> move_;
};

}  // namespace skipstone::exec
