// The program as a rank of a job (mpirun -n 2 skipstone ...).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "exit_code.h"
#include "json/json_fwd.h"

namespace cli::job {

/// Whether the arguments, or the environment, give the ranks of a job some of a model's layers each: --devices mpi.
bool shares_layers(const std::vector<std::string>& arguments);

/// Of such a job: joins it. Ranks behind the first have layers until rank 0 ends, read and print nothing, and return their exit code; rank
/// 0 goes on as the program.
std::optional<ExitCode> serve(const std::vector<std::string>& arguments);

/// Whether the command's work is what the ranks of a job share: bench, report, tune.
bool shares_work(const std::vector<std::string>& arguments);

struct Place {
  std::size_t rank = 0, ranks = 1;
  bool first_on_machine = true;
};

/// Of such a command: joins the job, if there is one, and from then on only rank 0 writes anything.
void share_work();
/// Among the ranks that share; alone where nobody does.
Place place();
/// Runs a command that shares its work. What another rank than the first meets with is thrown in rank 0, by the next gather().
ExitCode run_shared(const std::function<ExitCode()>& command);
/// In rank 0 the lines of JSON of all ranks, by rank; in the others none, and they go on.
std::vector<skipstone::SortedJson> gather(const std::string& lines);
/// Rank 0 waits until all ranks are ready to begin. Throws Failure where one cannot, or is of another build: before hours of work.
void wait_until_ready();
/// Of this rank, for EngineOptions; throws skipstone::error where there are more ranks than devices.
std::string device();

/// At the end of each rank.
class Membership {
 public:
  Membership() = default;
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
};

}  // namespace cli::job
