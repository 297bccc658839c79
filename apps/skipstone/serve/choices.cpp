#include "serve/choices.h"

#include <memory>
#include <new>
#include <utility>

namespace cli::serve {

/// A job on another thread, until it has ended or was dropped.
class Choices::Running {
 public:
  explicit Running(Choices& choices) : choices_(choices) {
    const std::lock_guard lock(choices_.mutex_);
    ++choices_.running_;
  }
  ~Running() {
    const std::lock_guard lock(choices_.mutex_);
    if (--choices_.running_ == 0) choices_.ended_.notify_all();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Choices& choices_;
};

Choices::Choices(std::uint32_t count, Cancellation& cancellation, OfferJob offer, RunOne run_one)
    : count_(count), cancellation_(cancellation), offer_(std::move(offer)), run_one_(std::move(run_one)) {}

void Choices::run() {
  run_next([this] { offer(next_); });
  while (next_ < count_ && !cancellation_.cancelled()) {
    offer(next_ + 1);  // this thread takes the next one
    run_next({});
  }
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return running_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

/// Offers the choices from `first` on. A thread takes one at a time, so that other requests have their turns.
void Choices::offer(std::uint32_t first) {
  try {
    for (std::uint32_t next = first; next < count_; ++next) {
      const auto running = std::make_shared<Running>(*this);
      if (!offer_([this, running] { run_next({}); })) return;
    }
  } catch (const std::bad_alloc&) {  // the thread that offers runs the rest
  }
}

void Choices::run_next(const std::function<void()>& on_prompt_read) {
  const std::uint32_t index = next_++;
  if (index >= count_ || (index > 0 && cancellation_.cancelled())) return;
  try {
    run_one_(index, on_prompt_read);
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    cancellation_.cancel();
  }
}

}  // namespace cli::serve
