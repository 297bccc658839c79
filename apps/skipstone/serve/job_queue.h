// A queue of waiting requests, and the threads that work on them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace cli::serve {

/// Thread-safe.
class JobQueue {
 public:
  using Job = std::function<void()>;
  using Ticket = std::uint64_t;

  /// At most `threads` jobs run at a time and `most_waiting` wait.
  JobQueue(std::size_t threads, std::size_t most_waiting);
  ~JobQueue();  ///< waits for running jobs; drops waiting ones
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  /// Nullopt if too many jobs wait. Exceptions of `job` are dropped.
  std::optional<Ticket> push(Job job);
  /// Runs `job` if a thread is free for it; false if none is.
  bool offer(Job job);
  /// Removes a job that has not begun and frees its place; false if it runs or has ended.
  bool remove(Ticket ticket);
  std::size_t waiting() const;
  std::size_t running() const;
  /// Whether each thread runs a job.
  std::vector<bool> busy() const;

 private:
  bool has_free_thread() const;
  void work(const std::stop_token& stop, std::size_t thread);
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<std::pair<Ticket, Job>> jobs_;
  Ticket next_ticket_ = 0;
  std::size_t most_waiting_;
  bool ending_ = false;
  std::vector<bool> busy_;
  std::vector<std::jthread> threads_;
};

}  // namespace cli::serve
