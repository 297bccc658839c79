// A call that runs in steps of limited time: the speculation loop between a program's frames.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "engine/engine.h"
#include "exec/runner.h"

namespace skipstone::engine {

/// Runs `body` on a thread of its own, in turns with the caller: only one of the two runs at any time, so they share data without locks.
/// While the device works for a step that polls, neither runs. The loop stays straight code; only its passes know of the turns
/// (exec::PassSlicer). A thread, not a coroutine: every function from the loop down to the queue would have to be a coroutine.
class StepRunner final : public exec::PassSlicer {
 public:
  using Body = std::function<void(StepRunner&)>;

  /// Runs `body` until its first submission is due. Throws what it throws until then.
  explicit StepRunner(Body body);
  /// Breaks the body off if it has not ended: its current wait throws Error{cancelled}.
  ~StepRunner() override;

  /// Lets the body continue: it submits slices of passes as long as they are expected to end within `budget`, at least one. True if it has
  /// ended; throws the exception that ended it.
  bool step(std::chrono::microseconds budget, StepMode mode);

  /// Called from the body: runs `call` on the thread that is in step(), and throws what it throws.
  void on_caller(const std::function<void()>& call);

  std::size_t next(std::span<const double> seconds) override;
  void submitted() override;
  void done() override;
  Clock::time_point now() const override;

 private:
  enum class Turn { caller, body, device };

  void run(const Body& body);
  /// Called from the caller: waits until the body has paused or ended.
  void resume(std::unique_lock<std::mutex>& lock);
  /// Called from the body: gives the turn to the caller and waits until it is the body's again.
  void pause(std::unique_lock<std::mutex>& lock);
  void wait_for_body(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  Turn turn_ = Turn::body;
  bool ended_ = false, broken_off_ = false;
  std::exception_ptr error_;
  const std::function<void()>* call_ = nullptr;  ///< requested by the body, run by the caller
  StepMode mode_ = StepMode::wait;
  bool fresh_ = false;  ///< no submission in this step yet
  Clock::time_point deadline_, paused_since_;
  Clock::duration paused_{};
  std::thread thread_;
};

}  // namespace skipstone::engine
