// Repeated measurements that take turns within a limit of time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "report/record.h"

namespace cli::report {

/// A measurement: one run, which returns the seconds of its measured part.
struct Runner {
  std::string what;  ///< for LeftOut
  std::function<double()> run;
  double expected = 0;  ///< seconds of a run, if known in advance
};

struct Limits {
  std::uint32_t repetitions = 5;
  double seconds = 0;             ///< for all runs together
  std::function<double()> clock;  ///< a monotonic clock in seconds
  bool warm_up = false;           ///< the first run of each does not count
};

/// Each runner's seconds, repetition by repetition. All take turns, so that a temporary slowdown of the machine affects all of them. A
/// run that would exceed the time left, judging by the runner's last run, is not begun; runners without any run go to `left_out`.
std::vector<std::vector<double>> take_turns(std::span<const Runner> runners, const Limits& limits, std::vector<LeftOut>& left_out);

/// The largest of `sizes` (from large to small) that takes at most `limit` seconds at `seconds` for each; the smallest if none does.
std::uint32_t size_that_fits(std::span<const std::uint32_t> sizes, double seconds, double limit);

}  // namespace cli::report
