#include "cluster/job.h"

#include <atomic>
#include <mutex>

namespace skipstone::cluster {
namespace {

std::mutex mutex_of_job;
std::unique_ptr<Job> job;
bool joined = false;
std::atomic<bool> told_to_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

Job* Job::current() {
  const std::lock_guard lock(mutex_of_job);
  if (!joined) job = join_job();
  joined = true;
  return job.get();
}

void Job::end() {
  const std::lock_guard lock(mutex_of_job);
  if (job) job->leave();
  job.reset();
}

void Job::stop() { told_to_stop.store(true); }
bool Job::stopped() { return told_to_stop.load(); }

}  // namespace skipstone::cluster
