// The passes that an engine's sequences ask for at the same time, as one: rows of several sequences side by side (continuous batching, Yu et
// al. 2022, "Orca", section 3.1). A row has the same bits in any company, so no text depends on who else asks.
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

/// From any thread. The thread of a sequence that asks may run the pass of all.
class PassMerger {
 public:
  PassMerger(const std::shared_ptr<vk::Device>& device, kernels::Library& library, const PassBuilder& builder, const model::Config& config,
             const model::Weights& weights, const SequenceShape& shape, StageRing* ring = nullptr);

  /// What a sequence that asks is to the merger. Lives as long as it asks.
  class Member {
   public:
    explicit Member(PassMerger& merger) : merger_(merger) { ++merger_.members_; }
    ~Member() {
      rest();
      --merger_.members_;
    }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;
    /// It will not ask for a while: nobody waits for it, and it has no kept rows.
    void rest() { merger_.rest(*this); }

   private:
    friend class PassMerger;
    /// What its thread sleeps on. It is signalled when the lock is free again, which would be taken at once; by then the member may be gone.
    using Wake = std::counting_semaphore<>;
    PassMerger& merger_;
    std::shared_ptr<Wake> wake_ = std::make_shared<Wake>(0);
    std::uint32_t rows_of_others_ = 0;  ///< in its last pass of decoding
  };

  /// Runs `spec` over the rows of one sequence; returns when it is done. It waits for those who were in the last pass, but not longer than
  /// a small part of a pass takes. Passes of decoding over the same layers run as one, up to STEP_VERIFY_ROWS rows; a prompt's run alone,
  /// and take turns with passes of decoding. Throws what the pass threw, also to those who were in it. `meanwhile`: as PassRunner::run; not
  /// called where others are in the pass.
  void run(Member& member, const PassSpec& spec, const SequenceRows& rows, PassResults& results, const Meanwhile& meanwhile = {});
  /// Runs `work` in the turn of a pass of decoding, and nothing beside it.
  void run_alone(Member& member, const std::function<void(PassRunner&)>& work);

  /// The kept rows of passes are the member's from now on, until give_kept_rows(): no pass of another one writes there. False where they are
  /// somebody else's, who is waited for with `wait`.
  bool take_kept_rows(Member& member, bool wait);
  void give_kept_rows(Member& member);

  /// Sequences that there are, whether they ask or not.
  std::uint32_t members() const { return members_; }
  /// Whether other sequences ask too.
  bool in_company(const Member& member) const;
  /// Rows that the last pass of the member had beside its own.
  std::uint32_t rows_of_others(const Member& member) const;

  /// A runner of its own for a sequence whose passes take long by intent.
  std::unique_ptr<PassRunner> new_runner();
  /// Returns when other devices have done what they were asked. Throws what a stage threw.
  void wait_for_stages() {
    if (ring_ != nullptr) ring_->wait();
  }
  KvCache& cache() { return cache_; }
  const model::Config& config() const { return config_; }
  const SequenceShape& shape() const { return shape_; }

  /// Since it was made: passes, and rows in them; passes of several sequences.
  struct Totals {
    std::uint64_t passes = 0, rows = 0, merged = 0, prompt_passes = 0, prompt_rows = 0;
    std::uint64_t candidate_rows = 0;  ///< of `rows`, those of which the pass left candidates
  };
  Totals totals() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Request;
  void wait_and_run(Request& request);
  void rest(Member& member);
  /// Nobody waits for it any more.
  void forget(const Member& member) { std::erase(expected_, &member); }
  void free_kept_rows(const Member& member);
  Request* next() const;
  Clock::time_point deadline(const Request& request) const;
  bool may_run(const Request& request) const;
  /// Whose thread has to be woken, now that the runner may be free; null for nobody.
  std::shared_ptr<Member::Wake> next_to_wake() const;
  std::vector<Request*> group_of(Request& first) const;
  void execute(std::vector<Request*>& group);
  /// Runs the pass of `first` and those that go with it; the lock is free then.
  void lead(std::unique_lock<std::mutex>& lock, Request& first);

  const std::shared_ptr<vk::Device> device_;
  kernels::Library& library_;
  const PassBuilder& builder_;
  const model::Config& config_;
  const model::Weights& weights_;
  SequenceShape shape_;
  StageRing* ring_;  ///< to the other layers' devices; null: there are none
  KvCache cache_;
  std::unique_ptr<RingStore> whole_elsewhere_, windowed_elsewhere_;
  PassRunner runner_;

  std::atomic<std::uint32_t> members_ = 0;
  mutable std::mutex mutex_;
  std::deque<Request*> waiting_;  ///< in the order in which they asked
  bool running_ = false;          ///< the runner is somebody's
  bool after_prompt_ = false;     ///< the last pass was a prompt's
  std::vector<const Member*> expected_;  ///< were in a pass of decoding and have not asked since
  const Member* keeper_ = nullptr;  ///< whose the kept rows are
  std::condition_variable kept_rows_free_;
  Clock::duration pass_time_{};  ///< of the last pass of decoding
  Totals totals_;
};

}  // namespace skipstone::exec
