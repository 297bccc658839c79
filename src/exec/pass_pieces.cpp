#include "exec/pass_pieces.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "abi/step_state.h"

namespace skipstone::exec {

void PassPieces::took(std::size_t first, std::size_t count, double measured) {
  const std::span<double> pieces = std::span(seconds).subspan(first, count);
  const bool known = std::ranges::all_of(pieces, [](double piece) { return piece > 0; });
  const double sum = std::accumulate(pieces.begin(), pieces.end(), 0.0);
  for (double& piece : pieces) {
    // One submission has one time: its pieces share it as they did before, evenly at first. What is new counts as much as all before it.
    piece = known ? 0.5 * (piece + measured * piece / sum) : measured / static_cast<double>(count);
  }
}

std::vector<std::size_t> piece_ends(const Plan& plan) {
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
