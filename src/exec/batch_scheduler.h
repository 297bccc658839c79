// Batches the passes that an engine's sequences request at the same time: rows of several sequences in one pass (continuous batching, Yu et
// al. 2022, "Orca", section 3.1). A row has the same bits in any batch, so no text depends on concurrent sequences.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <vector>

#include "exec/pass_runner.h"
#include "exec/stage_ring.h"

namespace skipstone::exec {

/// Thread-safe. The thread of a sequence that requests a pass may run the pass of all.
class BatchScheduler {
 public:
  BatchScheduler(const std::shared_ptr<vk::Device>& device, kernels::Library& library, const PassBuilder& builder,
                 const model::Config& config, const model::Weights& weights, const SequenceShape& shape, StageRing* ring = nullptr);

  /// A sequence that requests passes. Lives as long as it requests any.
  class Client {
   public:
    explicit Client(BatchScheduler& scheduler) : scheduler_(scheduler) { ++scheduler_.clients_; }
    ~Client() {
      set_idle();
      --scheduler_.clients_;
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    /// Marks the client idle: no pass waits for it, and it has no saved hidden states.
    void set_idle() { scheduler_.set_idle(*this); }

   private:
    friend class BatchScheduler;
    /// Semaphore that the client's thread sleeps on. It is signalled after the lock is released, because the woken thread takes the lock at
    /// once; by then the client may be gone.
    using Wake = std::counting_semaphore<>;
    BatchScheduler& scheduler_;
    std::shared_ptr<Wake> wake_ = std::make_shared<Wake>(0);
    std::uint32_t concurrent_rows_ = 0;  ///< in its last pass of decoding
  };

  /// Runs `spec` over the rows of one sequence; returns when it is done. The pass waits for the clients of the last pass, but not longer
  /// than a small part of a pass takes. Passes of decoding over the same layers run as one, up to STEP_VERIFY_ROWS rows; prompt passes run
  /// alone, and take turns with passes of decoding. Throws what the pass threw, to all clients in it. `meanwhile`: as PassRunner::run; not
  /// called in a batched pass.
  void run(Client& client, const PassSpec& spec, const SequenceRows& rows, PassResults& results, const Meanwhile& meanwhile = {});
  /// Runs `work` in the turn of a pass of decoding, with no pass at the same time.
  void run_alone(Client& client, const std::function<void(PassRunner&)>& work);

  /// Reserves the saved hidden states for the client until release_hidden_states(): no pass of another client writes there. False if
  /// another client holds them; with `wait`, waits until they are free.
  bool acquire_hidden_states(Client& client, bool wait);
  void release_hidden_states(Client& client);

  /// Number of sequences, whether they request passes or not.
  std::uint32_t clients() const { return clients_; }
  /// Whether other sequences request passes too.
  bool has_concurrent_sequences(const Client& client) const;
  /// Rows of concurrent sequences in the last pass of the client.
  std::uint32_t concurrent_rows(const Client& client) const;

  /// A runner of its own for a sequence whose passes take long by intent.
  std::unique_ptr<PassRunner> new_runner();
  /// Returns when remote devices have completed all requests. Throws what a stage threw.
  void wait_for_stages() {
    if (ring_ != nullptr) ring_->wait();
  }
  KvCache& cache() { return cache_; }
  const model::Config& config() const { return config_; }
  const SequenceShape& shape() const { return shape_; }

  /// Since construction: passes, and rows in them; passes of several sequences.
  struct Totals {
    std::uint64_t passes = 0, rows = 0, batched = 0, prompt_passes = 0, prompt_rows = 0;
    std::uint64_t candidate_rows = 0;  ///< of `rows`, those with candidates from the pass
  };
  Totals totals() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Request;
  void wait_and_run(Request& request);
  void set_idle(Client& client);
  /// The scheduler no longer waits for the client.
  void forget(const Client& client) { std::erase(expected_, &client); }
  void release_hidden_states_of(const Client& client);
  Request* next() const;
  Clock::time_point deadline(const Request& request) const;
  bool may_run(const Request& request) const;
  /// The thread to wake, now that the runner may be free; null for none.
  std::shared_ptr<Client::Wake> next_to_wake() const;
  std::vector<Request*> group_of(Request& first) const;
  void execute(std::vector<Request*>& group);
  /// Runs the pass of `first` and of the requests batched with it, without holding the lock.
  void lead(std::unique_lock<std::mutex>& lock, Request& first);

  const std::shared_ptr<vk::Device> device_;
  kernels::Library& library_;
  const PassBuilder& builder_;
  const model::Config& config_;
  const model::Weights& weights_;
  SequenceShape shape_;
  StageRing* ring_;  ///< to the devices of remote layers; null: all layers are local
  KvCache cache_;
  PassRunner runner_;

  std::atomic<std::uint32_t> clients_ = 0;
  mutable std::mutex mutex_;
  std::deque<Request*> waiting_;  ///< in the order of their requests
  bool running_ = false;          ///< the runner is in use
  bool after_prompt_ = false;     ///< the last pass was a prompt's
  std::vector<const Client*> expected_;  ///< were in a pass of decoding and have not requested one since
  const Client* keeper_ = nullptr;       ///< the client that has the saved hidden states
  std::condition_variable hidden_states_free_;
  Clock::duration pass_time_{};  ///< of the last pass of decoding
  Totals totals_;
};

}  // namespace skipstone::exec
