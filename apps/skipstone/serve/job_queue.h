// Requests that wait for their turn, and the threads that work on them.
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

/// From any thread.
class JobQueue {
 public:
  using Job = std::function<void()>;
  using Ticket = std::uint64_t;

  /// `threads` jobs run at a time, `most_waiting` wait.
  JobQueue(std::size_t threads, std::size_t most_waiting);
  ~JobQueue();  ///< waits for those that run; those that wait are dropped
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  /// Nothing where too many wait. What `job` throws is dropped.
  std::optional<Ticket> push(Job job);
  /// Takes a job out that has not begun, and gives its place to others; false where it runs or has ended.
  bool remove(Ticket ticket);
  std::size_t waiting() const;
  std::size_t running() const;
  /// By thread: whether it works.
  std::vector<bool> busy() const;

 private:
  void work(const std::stop_token& stop, std::size_t thread);
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<std::pair<Ticket, Job>> jobs_;
  Ticket next_ticket_ = 0;
  std::size_t most_waiting_;
  std::vector<bool> busy_;
  std::vector<std::jthread> threads_;
};

}  // namespace cli::serve
