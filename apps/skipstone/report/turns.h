// Repeated measurements that take turns within a limit of time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "report/record.h"

namespace cli::report {

/// Something that is measured: one run, which gives the seconds of what counts of it.
struct Runner {
  std::string what;  ///< for LeftOut
  std::function<double()> run;
  double expected = 0;  ///< seconds of a run, where they are known before
};

struct Limits {
  std::uint32_t repetitions = 5;
  double seconds = 0;             ///< for all of them together
  std::function<double()> clock;  ///< seconds since some time; rises
  bool warm_up = false;           ///< a first run of each does not count
};

/// Each runner's seconds, repetition by repetition. All take turns, so that what slows the machine down for a while meets all of them. A
/// run that the time left is too short for, by the runner's last run, is not begun; what was never measured then goes to `left_out`.
std::vector<std::vector<double>> take_turns(std::span<const Runner> runners, const Limits& limits, std::vector<LeftOut>& left_out);

/// The largest of `sizes` (from large to small) that takes at most `limit` seconds at `seconds` for each; the smallest where none does.
std::uint32_t size_that_fits(std::span<const std::uint32_t> sizes, double seconds, double limit);

}  // namespace cli::report
