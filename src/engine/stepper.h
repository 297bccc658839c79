// A call that goes on for a while each time it is asked to: the speculation loop between a program's frames.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "engine/engine.h"
#include "exec/pacer.h"

namespace skipstone::engine {

/// Runs `body` on a thread of its own, in turns with the caller: only one of the two is ever at work, so they share what they like without
/// locks. While the device works for a step that polls, neither is. The loop stays straight code; only its passes know of the turns
/// (exec::Pacer). A thread, not a coroutine: those would make one of every function from the loop down to the queue.
class Stepper final : public exec::Pacer {
 public:
  using Body = std::function<void(Stepper&)>;

  /// Runs `body` until it would submit something. Throws what it throws until then.
  explicit Stepper(Body body);
  /// Breaks the body off, where it has not ended: what it waits for throws Error{cancelled}.
  ~Stepper() override;

  /// Lets the body go on: it submits pieces of passes as long as they are expected to be done within `budget`, at least one. True where it
  /// has ended; throws what ended it.
  bool step(std::chrono::microseconds budget, StepMode mode);

  /// From the body: runs `call` on the thread that is in step(), and throws what it throws.
  void on_caller(const std::function<void()>& call);

  std::size_t next(std::span<const double> seconds) override;
  void submitted() override;
  void done() override;
  Clock::time_point now() const override;

 private:
  enum class Turn { caller, body, device };

  void run(const Body& body);
  /// From the caller: until the body has paused or ended.
  void resume(std::unique_lock<std::mutex>& lock);
  /// From the body: the caller's turn, until it is the body's again.
  void pause(std::unique_lock<std::mutex>& lock);
  void wait_for_body(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  Turn turn_ = Turn::body;
  bool ended_ = false, broken_off_ = false;
  std::exception_ptr error_;
  const std::function<void()>* call_ = nullptr;  ///< that the body wants from the caller
  StepMode mode_ = StepMode::wait;
  bool fresh_ = false;  ///< nothing has been submitted in this step
  Clock::time_point deadline_, paused_since_;
  Clock::duration paused_{};
  std::thread thread_;
};

}  // namespace skipstone::engine
