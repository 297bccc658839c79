// The program as a rank of a job (mpirun -n 2 skipstone ...).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "exit_code.h"

namespace cli::job {

/// Whether the arguments, or the environment, give the ranks of a job some of a model's layers each: --devices mpi.
bool shares_layers(const std::vector<std::string>& arguments);

/// Of such a job: joins it. Ranks behind the first have layers until rank 0 ends, read and print nothing, and return their exit code; rank
/// 0 goes on as the program.
std::optional<ExitCode> serve(const std::vector<std::string>& arguments);

struct Place {
  std::size_t rank = 0, ranks = 1;
};

/// Joins the job, if there is one, and from then on it shares out prompts; only rank 0 writes anything.
void share_prompts();
/// This process's part of the prompts: all of them where nobody shares them.
Place prompt_share();
/// In rank 0 the texts of all ranks, one behind the other; else "".
std::string gather(const std::string& text);
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
