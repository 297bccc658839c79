#include "report/turns.h"

#include <fmt/format.h>

namespace cli::report {

std::vector<std::vector<double>> take_turns(std::span<const Runner> runners, const Limits& limits, std::vector<LeftOut>& left_out) {
  const double end = limits.clock() + limits.seconds;
  std::vector<std::vector<double>> measured(runners.size());
  std::vector<double> expected;  // wall-clock seconds of a run, including its uncounted parts
  for (const Runner& runner : runners) expected.push_back(runner.expected);
  const std::uint32_t uncounted = limits.warm_up ? 1 : 0;
  for (std::uint32_t turn = 0; turn < limits.repetitions + uncounted; ++turn) {
    for (std::size_t i = 0; i < runners.size(); ++i) {
      const double before = limits.clock();
      if (before + expected[i] > end) continue;
      const double seconds = runners[i].run();
      expected[i] = limits.clock() - before;
      if (turn >= uncounted) measured[i].push_back(seconds);
    }
  }
  for (std::size_t i = 0; i < runners.size(); ++i) {
    if (!measured[i].empty()) continue;
    const std::string run = expected[i] > 0 ? fmt::format("; a run takes {:.1f} s", expected[i]) : "";
    left_out.push_back({runners[i].what, fmt::format("there were only {:.0f} s for this and what is like it{}", limits.seconds, run)});
  }
  return measured;
}

std::uint32_t size_that_fits(std::span<const std::uint32_t> sizes, double seconds, double limit) {
  for (const std::uint32_t size : sizes) {
    if (size * seconds <= limit) return size;
  }
  return sizes.back();
}

}  // namespace cli::report
