#include "exec/pass_slices.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "abi/step_state.h"

namespace skipstone::exec {

void PassSlices::record_time(std::size_t first, std::size_t count, double measured) {
  const std::span<double> slices = std::span(seconds).subspan(first, count);
  const bool known = std::ranges::all_of(slices, [](double slice) { return slice > 0; });
  const double sum = std::accumulate(slices.begin(), slices.end(), 0.0);
  for (double& slice : slices) {
    // One submission has one time: its slices share it in proportion to their earlier times, evenly at first. A new time counts as much as
    // all before it.
    slice = known ? 0.5 * (slice + measured * slice / sum) : measured / static_cast<double>(count);
  }
}

std::vector<std::size_t> slice_ends(const Plan& plan) {
  std::vector<std::size_t> ends;
  if (plan.spec.bucket <= STEP_VERIFY_ROWS) {
    for (const std::size_t start : plan.layer_starts) {
      if (start > 0) ends.push_back(start);
    }
  } else {
    ends.resize(plan.dispatches.size());
    std::iota(ends.begin(), ends.end(), std::size_t{1});
  }
  if (ends.empty() || ends.back() < plan.dispatches.size()) ends.push_back(plan.dispatches.size());
  return ends;
}

}  // namespace skipstone::exec
