#include "engine/step_runner.h"

#include <utility>

#include "base/status.h"

namespace skipstone::engine {

StepRunner::StepRunner(Body body) : deadline_(Clock::now()) {
  std::unique_lock lock(mutex_);
  thread_ = std::thread([this, body = std::move(body)] { run(body); });
  resume(lock);
  if (!error_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(error_);
}

StepRunner::~StepRunner() {
  {
    std::unique_lock lock(mutex_);
    broken_off_ = true;
    changed_.wait(lock, [this] { return turn_ != Turn::device; });
    if (!ended_) {
      turn_ = Turn::body;
      changed_.notify_all();
    }
  }
  if (thread_.joinable()) thread_.join();
}

void StepRunner::run(const Body& body) {
  std::exception_ptr error;
  try {
    body(*this);
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  error_ = error;
  ended_ = true;
  turn_ = Turn::caller;
  changed_.notify_all();
}

void StepRunner::resume(std::unique_lock<std::mutex>& lock) {
  for (;;) {
    turn_ = Turn::body;
    changed_.notify_all();
    changed_.wait(lock, [this] { return turn_ != Turn::body; });
    const std::function<void()>* call = std::exchange(call_, nullptr);
    if (call == nullptr) return;
    lock.unlock();
    (*call)();
    lock.lock();
  }
}

bool StepRunner::step(std::chrono::microseconds budget, StepMode mode) {
  std::unique_lock lock(mutex_);
  if (turn_ == Turn::device) return false;
  if (!ended_) {
    const auto start = Clock::now();
    paused_ += start - paused_since_;
    deadline_ = start + budget;
    mode_ = mode;
    fresh_ = true;
    resume(lock);
  }
  if (!ended_) return false;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return true;
}

void StepRunner::wait_for_body(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [this] { return turn_ == Turn::body; });
  if (broken_off_) fail(Code::cancelled, "the generation was broken off between its steps");
}

void StepRunner::pause(std::unique_lock<std::mutex>& lock) {
  turn_ = Turn::caller;
  paused_since_ = Clock::now();
  changed_.notify_all();
  wait_for_body(lock);
}

void StepRunner::on_caller(const std::function<void()>& call) {
  std::exception_ptr error;
  const std::function<void()> caught = [&] {
    try {
      call();
    } catch (...) {
      error = std::current_exception();
    }
  };
  std::unique_lock lock(mutex_);
  if (broken_off_) fail(Code::cancelled, "the generation was broken off between its steps");
  call_ = &caught;
  turn_ = Turn::caller;
  changed_.notify_all();
  changed_.wait(lock, [this] { return turn_ == Turn::body; });
  lock.unlock();
  if (error) std::rethrow_exception(error);
}

// A slice that has never run is submitted alone, because its cost is unknown.
std::size_t StepRunner::next(std::span<const double> seconds) {
  std::unique_lock lock(mutex_);
  for (;;) {
    double left = std::chrono::duration<double>(deadline_ - Clock::now()).count();
    std::size_t count = 0;
    while (count < seconds.size() && seconds[count] > 0 && seconds[count] <= left) left -= seconds[count++];
    if (count == 0 && (fresh_ || (left > 0 && seconds[0] == 0))) count = 1;
    if (count > 0) {
      fresh_ = false;
      return count;
    }
    pause(lock);
  }
}

void StepRunner::submitted() {
  const std::lock_guard lock(mutex_);
  if (mode_ != StepMode::poll) return;
  turn_ = Turn::device;
  changed_.notify_all();
}

void StepRunner::done() {
  std::unique_lock lock(mutex_);
  if (turn_ != Turn::device) return;
  pause(lock);
}

StepRunner::Clock::time_point StepRunner::now() const { return Clock::now() - paused_; }

}  // namespace skipstone::engine
