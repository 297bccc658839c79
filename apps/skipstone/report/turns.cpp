#include "report/turns.h"

#include <fmt/format.h>

namespace cli::report {

std::vector<std::vector<double>> take_turns(std::span<const Runner> runners, const Limits& limits, std::vector<LeftOut>& left_out) {
  const double end = limits.clock() + limits.seconds;
  std::vector<std::vector<double>> measured(runners.size());
  std::vector<double> expected(runners.size(), 0.0);  // seconds of a run by the clock, what does not count of it too
  // Turn 0 is the one that does not count.
  for (std::uint32_t turn = 0; turn <= limits.repetitions; ++turn) {
    for (std::size_t i = 0; i < runners.size(); ++i) {
      const double before = limits.clock();
      if (before + expected[i] > end) continue;
      const double seconds = runners[i].run();
      expected[i] = limits.clock() - before;
      if (turn > 0) measured[i].push_back(seconds);
    }
  }
  for (std::size_t i = 0; i < runners.size(); ++i) {
    if (!measured[i].empty()) continue;
    const std::string why =
        expected[i] > 0 ? fmt::format("a run takes {:.1f} s, too long for the {:.0f} s that there were", expected[i], limits.seconds)
                        : fmt::format("there was no time left of {:.0f} s", limits.seconds);
    left_out.push_back({runners[i].what, why});
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
