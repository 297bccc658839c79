// The program as a rank of a job (mpirun -n 2 skipstone ...).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "json/json_fwd.h"
#include "terminal/exit_code.h"

namespace cli::job {

/// Whether the arguments, or the environment, split a model's layers over the ranks of a job: --devices mpi.
bool shares_layers(const std::vector<std::string>& arguments);

/// Joins such a job. Ranks after the first run their layers until rank 0 ends, read and print nothing, and return their exit code; rank 0
/// continues as the program.
std::optional<ExitCode> serve(const std::vector<std::string>& arguments);

/// Whether the ranks of a job share the command's work: bench, report, tune.
bool shares_work(const std::vector<std::string>& arguments);

struct Place {
  std::size_t rank = 0, ranks = 1;
  bool first_on_machine = true;
};

/// For such a command: joins the job, if there is one; from then on only rank 0 writes anything.
void share_work();
/// This process's place among the ranks that share work; {0, 1} without a job.
Place place();
/// Runs a command that shares its work. The next gather() in rank 0 throws the failure of any other rank.
ExitCode run_shared(const std::function<ExitCode()>& command);
/// In rank 0 returns the JSON lines of all ranks, by rank; the other ranks get none and continue.
std::vector<skipstone::SortedJson> gather(const std::string& lines);
/// Rank 0 waits until all ranks are ready to begin. Throws Failure if one cannot, or has another build: before hours of work.
void wait_until_ready();
/// The device of this rank, for EngineOptions; throws skipstone::error if there are more ranks than devices.
std::string device();

/// Leaves the job at the end of each rank.
class Membership {
 public:
  Membership() = default;
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
};

}  // namespace cli::job
