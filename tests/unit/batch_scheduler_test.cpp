// The scheduler without a device: a runner that only notes its passes, and a clock that the test advances.
#include "exec/batch_scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"

namespace skipstone::exec {
namespace {

using std::chrono::milliseconds;
using Time = SchedulerClock::Steady::time_point;

class ManualClock : public SchedulerClock {
 public:
  Time now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  bool wait(Wake& wake, Time until) const override {
    for (;; std::this_thread::yield()) {
      if (wake.try_acquire()) return true;
      const std::lock_guard lock(mutex_);
      last_limit_ = until;
      if (now_ >= until) return false;
    }
  }

  void advance(SchedulerClock::Steady::duration by) {
    const std::lock_guard lock(mutex_);
    now_ += by;
  }
  /// The limit of the last wait; that of none: the clock's beginning.
  Time last_limit() const {
    const std::lock_guard lock(mutex_);
    return last_limit_;
  }

 private:
  mutable std::mutex mutex_;
  Time now_ = Time{} + std::chrono::hours(1);
  mutable Time last_limit_{};
};

class NotingRunner : public Runner {
 public:
  explicit NotingRunner(ManualClock& clock) : clock_(clock) {}

  using Runner::run;
  void run(const PassSpec& spec, std::span<const SequenceRows> sequences, const PassControl&) override {
    if (during) during();
    clock_.advance(duration);
    std::string rows;
    for (const SequenceRows& sequence : sequences) rows += (rows.empty() ? "" : "+") + std::to_string(sequence.rows.tokens.size());
    passes.push_back((spec.prompt ? "prompt " : "rows ") + rows + " of " + std::to_string(spec.bucket));
  }
  void collect(const PassSpec&, std::uint32_t first, std::uint32_t, PassResults& results) override { results.first_row = first; }
  void move(std::uint32_t, std::span<const std::uint32_t>, const PageLists&) override {}
  LocalRunner& local() override { fail(Code::internal, "there is no device"); }

  std::vector<std::string> passes;  ///< read while no pass runs
  std::function<void()> during;     ///< called in each pass
  SchedulerClock::Steady::duration duration = milliseconds(80);

 private:
  ManualClock& clock_;
};

struct Scheduled {
  ManualClock clock;
  NotingRunner runner{clock};
  BatchScheduler scheduler{runner, clock};

  /// A pass of decoding over `rows` rows, or a prompt's.
  PassResults run(BatchScheduler::Client& client, std::uint32_t rows, bool prompt = false) {
    const std::vector<std::int32_t> tokens(rows);
    PassResults results;
    scheduler.run(client, {.layers = LayerPlan::full(2), .bucket = rows, .prompt = prompt}, {.pages = {}, .rows = {.tokens = tokens}},
                  results);
    return results;
  }
  void await_waiting(std::size_t requests) const {
    while (scheduler.waiting() < requests) std::this_thread::yield();
  }
};

TEST(BatchScheduler, BatchesTheRowsOfClientsOfTheLastPass) {
  Scheduled s;
  BatchScheduler::Client first(s.scheduler), second(s.scheduler);
  s.run(first, 1);
  PassResults of_second;
  std::thread thread([&] { of_second = s.run(second, 2); });
  s.await_waiting(1);  // for the first client, until the clock says that it waits no longer
  const PassResults of_first = s.run(first, 1);
  thread.join();
  EXPECT_EQ(s.runner.passes, (std::vector<std::string>{"rows 1 of 1", "rows 2+1 of 4"}));
  EXPECT_EQ(of_second.first_row, 0u);
  EXPECT_EQ(of_first.first_row, 2u);
  EXPECT_EQ(s.scheduler.concurrent_rows(first), 2u);
  EXPECT_EQ(s.scheduler.concurrent_rows(second), 1u);
  EXPECT_EQ(s.scheduler.totals().batched, 1u);
  EXPECT_EQ(s.scheduler.totals().rows, 4u);
}

TEST(BatchScheduler, WaitsForAnEighthOfAPassAndNoLonger) {
  Scheduled s;
  BatchScheduler::Client first(s.scheduler), second(s.scheduler);
  s.run(first, 1);
  const Time asked = s.clock.now();
  std::thread thread([&] { s.run(second, 1); });
  while (s.clock.last_limit() == Time{}) std::this_thread::yield();
  EXPECT_EQ(s.clock.last_limit(), asked + s.runner.duration / 8);
  s.clock.advance(s.runner.duration / 8 - milliseconds(1));
  EXPECT_EQ(s.scheduler.waiting(), 1u);
  s.clock.advance(milliseconds(1));
  thread.join();
  EXPECT_EQ(s.runner.passes, (std::vector<std::string>{"rows 1 of 1", "rows 1 of 1"}));
  EXPECT_EQ(s.clock.now(), asked + s.runner.duration / 8 + s.runner.duration);
  // The second client alone is expected now, and does not wait for itself.
  s.run(second, 1);
  EXPECT_EQ(s.runner.passes.size(), 3u);
}

TEST(BatchScheduler, DoesNotWaitForAnIdleClient) {
  Scheduled s;
  BatchScheduler::Client first(s.scheduler), second(s.scheduler);
  s.run(first, 1);
  const Time asked = s.clock.now();
  EXPECT_TRUE(s.scheduler.has_concurrent_sequences(second));
  std::thread thread([&] { s.run(second, 1); });
  s.await_waiting(1);
  first.set_idle();
  thread.join();
  EXPECT_EQ(s.clock.now(), asked + s.runner.duration) << "the clock moved only while the pass ran";
  second.set_idle();
  EXPECT_FALSE(s.scheduler.has_concurrent_sequences(first));
}

TEST(BatchScheduler, PromptsAndDecodingTakeTurns) {
  Scheduled s;
  BatchScheduler::Client running(s.scheduler), decoding(s.scheduler), prompt(s.scheduler), other_prompt(s.scheduler);
  std::atomic<bool> begun = false, release = false;
  s.runner.during = [&] {
    begun = true;
    while (!release) std::this_thread::yield();
  };
  std::vector<std::thread> threads;
  threads.emplace_back([&] { s.run(running, 1); });
  while (!begun) std::this_thread::yield();
  std::size_t waiting = 0;
  const auto request = [&](BatchScheduler::Client& client, std::uint32_t rows, bool is_prompt) {
    threads.emplace_back([&s, &client, rows, is_prompt] { s.run(client, rows, is_prompt); });
    s.await_waiting(++waiting);
  };
  request(prompt, 64, true);
  request(other_prompt, 128, true);
  request(decoding, 2, false);
  release = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(s.runner.passes, (std::vector<std::string>{"rows 1 of 1", "prompt 64 of 64", "rows 2 of 2", "prompt 128 of 128"}));
  EXPECT_EQ(s.scheduler.totals().prompt_passes, 2u);
}

TEST(BatchScheduler, ThrowsTheErrorOfABatchedPassToAllOfItsClients) {
  Scheduled s;
  BatchScheduler::Client first(s.scheduler), second(s.scheduler);
  s.run(first, 1);
  std::atomic<int> failed = 0;
  s.runner.during = [&] {
    ++failed;
    fail(Code::device_lost, "the device is lost");
  };
  std::thread thread([&] { EXPECT_THROW(s.run(second, 1), Error); });
  s.await_waiting(1);
  EXPECT_THROW(s.run(first, 1), Error);
  thread.join();
  EXPECT_EQ(failed, 1) << "one pass for both";
  s.runner.during = {};
  second.set_idle();
  s.run(first, 1);
  EXPECT_EQ(s.runner.passes.size(), 2u);
}

TEST(BatchScheduler, OneClientAtATimeHasTheHiddenStates) {
  Scheduled s;
  BatchScheduler::Client first(s.scheduler), second(s.scheduler);
  EXPECT_TRUE(s.scheduler.acquire_hidden_states(first, false));
  EXPECT_TRUE(s.scheduler.acquire_hidden_states(first, true)) << "it has them";
  EXPECT_FALSE(s.scheduler.acquire_hidden_states(second, false));
  std::thread thread([&] { EXPECT_TRUE(s.scheduler.acquire_hidden_states(second, true)); });
  first.set_idle();
  thread.join();
}

}  // namespace
}  // namespace skipstone::exec
