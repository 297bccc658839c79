#include "serve/job_queue.h"

#include <algorithm>
#include <utility>

namespace cli::serve {

JobQueue::JobQueue(std::size_t threads, std::size_t most_waiting) : most_waiting_(most_waiting), busy_(threads) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this, i](const std::stop_token& stop) { work(stop, i); });
}

JobQueue::~JobQueue() {
  for (std::jthread& thread : threads_) thread.request_stop();
  std::list<std::pair<Ticket, Job>> dropped;  // before the running jobs end: they may wait for one of these
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    dropped.swap(jobs_);
  }
  dropped.clear();
  threads_.clear();
}

bool JobQueue::has_free_thread() const {
  return std::ranges::count(busy_, true) + static_cast<std::ptrdiff_t>(jobs_.size()) < std::ssize(busy_);
}

bool JobQueue::offer(Job job) {
  const std::lock_guard lock(mutex_);
  if (ending_ || !has_free_thread()) return false;
  jobs_.emplace_back(++next_ticket_, std::move(job));
  changed_.notify_one();
  return true;
}

std::optional<JobQueue::Ticket> JobQueue::push(Job job) {
  const std::lock_guard lock(mutex_);
  if (!has_free_thread() && jobs_.size() >= most_waiting_) return std::nullopt;
  jobs_.emplace_back(++next_ticket_, std::move(job));
  changed_.notify_one();
  return next_ticket_;
}

bool JobQueue::remove(Ticket ticket) {
  std::list<std::pair<Ticket, Job>> removed;  // destroyed without the lock: a job may own objects that call back
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(jobs_, ticket, &std::pair<Ticket, Job>::first);
  if (found == jobs_.end()) return false;
  removed.splice(removed.end(), jobs_, found);
  return true;
}

std::size_t JobQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

std::size_t JobQueue::running() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count(busy_, true));
}

std::vector<bool> JobQueue::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

void JobQueue::work(const std::stop_token& stop, std::size_t thread) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !jobs_.empty(); })) {
    if (stop.stop_requested()) return;
    Job job = std::move(jobs_.front().second);
    jobs_.pop_front();
    busy_[thread] = true;
    lock.unlock();
    try {
      job();
    } catch (...) {  // memory has run out: the request is dropped, the thread continues with the next one
    }
    job = nullptr;
    lock.lock();
    busy_[thread] = false;
  }
}

}  // namespace cli::serve
