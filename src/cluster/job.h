// This process as a rank of a job that mpirun has started.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exec/link.h"

namespace skipstone::cluster {

/// A rank that does not hear from rank 0 for 5 s, and rank 0 if it does not hear from another rank, reports this in one sentence on
/// standard error and ends its process and with it the job: no call here returns then. The same happens after stop().
class Job {
 public:
  /// Null if the process was started alone or the build has no MPI. The first call joins the job, and returns when all ranks have called.
  /// After end(): null.
  static Job* current();
  /// Leaves the job, if there is one. Rank 0 ends it for all; others wait for that.
  static void end();
  /// For signal handlers: the launcher asks this rank to end, as it does when another one has died.
  static void stop();

  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  struct Place {
    std::uint32_t rank = 0, ranks = 1;
    std::uint32_t local_rank = 0, local_ranks = 1;  ///< among those on this machine
  };
  const Place& place() const { return place_; }
  /// Links of one direction each, from stage to stage; the delay of both ends is that of the sender.
  virtual std::unique_ptr<exec::Link> link_to(std::uint32_t rank, std::chrono::microseconds delay) = 0;
  virtual std::unique_ptr<exec::Link> link_from(std::uint32_t rank) = 0;
  /// For ranks after the first: waits until `rank` has a message for this one; false if rank 0 ends the job instead.
  virtual bool wait_for_link(std::uint32_t rank) = 0;
  /// Rank 0 waits for the texts of all ranks and gets them by rank; the others get nothing, and continue.
  virtual std::vector<std::string> gather(std::string text) = 0;

 protected:
  Job() = default;
  static bool stopped();
  Place place_;

 private:
  virtual void leave() = 0;
};

/// Joins the job that the environment names; null if no launcher has set it up.
std::unique_ptr<Job> join_job();

}  // namespace skipstone::cluster
