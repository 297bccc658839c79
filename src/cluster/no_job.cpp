// For builds without MPI.
#include "cluster/job.h"

namespace skipstone::cluster {

std::unique_ptr<Job> join_job() { return nullptr; }

}  // namespace skipstone::cluster
