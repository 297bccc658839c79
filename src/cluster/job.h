// This process as one of several that work together: a rank of a job that mpirun has started.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exec/link.h"

namespace skipstone::cluster {

/// Whoever does not hear of rank 0 for 5 s, and rank 0 where it does not hear of another rank, says so in one sentence on standard error
/// and ends its process and with it the job: no call here returns then. So it does after stop().
class Job {
 public:
  /// Null where the process was started alone or the build has no MPI. The first call joins the job, and returns when all ranks have
  /// called. After end(): null.
  static Job* current();
  /// Leaves the job, if there is one. Rank 0 ends it for all; others wait for that.
  static void end();
  /// For signal handlers: whoever started the job asks this rank to end, as it does where another one has died.
  static void stop();

  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  struct Place {
    std::uint32_t rank = 0, ranks = 1;
    std::uint32_t local_rank = 0, local_ranks = 1;  ///< among those on this machine
  };
  const Place& place() const { return place_; }
  /// One direction each, from stage to stage; the delay of both ends is that of the sender.
  virtual std::unique_ptr<exec::Link> link_to(std::uint32_t rank, std::chrono::microseconds delay) = 0;
  virtual std::unique_ptr<exec::Link> link_from(std::uint32_t rank) = 0;
  /// For ranks behind the first: waits until `rank` has a message for this one; false where rank 0 ends the job instead.
  virtual bool wait_for_link(std::uint32_t rank) = 0;
  /// Rank 0 gets the texts of all, by rank, and waits for them; the others get nothing, and go on.
  virtual std::vector<std::string> gather(std::string text) = 0;

 protected:
  Job() = default;
  static bool stopped();
  Place place_;

 private:
  virtual void leave() = 0;
};

/// By the environment; null where no launcher has set it up. Joins.
std::unique_ptr<Job> join_job();

}  // namespace skipstone::cluster
