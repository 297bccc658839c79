// Requests that wait for their turn, and the threads that work on them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cli::serve {

/// From any thread.
class JobQueue {
 public:
  /// `threads` jobs run at a time, `most_waiting` wait.
  JobQueue(std::size_t threads, std::size_t most_waiting);
  ~JobQueue();  ///< waits for those that run; those that wait are dropped
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  /// False where too many wait. `job` gets the number of its thread, from 0.
  bool push(std::function<void(std::size_t)> job);
  std::size_t waiting() const;
  std::size_t running() const;
  /// By thread: whether it works.
  std::vector<bool> busy() const;

 private:
  void work(const std::stop_token& stop, std::size_t thread);
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void(std::size_t)>> jobs_;
  std::size_t most_waiting_;
  std::vector<bool> busy_;
  std::vector<std::jthread> threads_;
};

}  // namespace cli::serve
