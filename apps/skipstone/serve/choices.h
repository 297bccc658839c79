// The n choices of a request, side by side where threads are free.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

#include "serve/cancellation.h"

namespace cli::serve {

/// Runs a job on another thread if one is free for it now; false if none is. The job may be dropped when the server ends.
using OfferJob = std::function<bool(std::function<void()> job)>;

/// The first choice runs alone until its prompt is read, which the others then find in the prefix cache. The others run beside it as far as
/// threads are free, or after it.
class Choices {
 public:
  /// Runs a choice; calls `on_prompt_read` when its prompt has been read.
  using RunOne = std::function<void(std::uint32_t index, const std::function<void()>& on_prompt_read)>;

  Choices(std::uint32_t count, Cancellation& cancellation, OfferJob offer, RunOne run_one);
  Choices(const Choices&) = delete;
  Choices& operator=(const Choices&) = delete;

  /// Returns when all choices have ended. An exception of one cancels the others and is thrown then.
  void run();

 private:
  class Running;
  void offer(std::uint32_t first);
  void run_next(const std::function<void()>& on_prompt_read);

  const std::uint32_t count_;
  Cancellation& cancellation_;
  const OfferJob offer_;
  const RunOne run_one_;
  std::atomic<std::uint32_t> next_{0};
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t running_ = 0;  ///< jobs that other threads have taken
  std::exception_ptr failure_;
};

}  // namespace cli::serve
